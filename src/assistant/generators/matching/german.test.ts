import { expect, test } from 'vitest';
import { Conversation } from '../../testing/conversation.ts';
import { project } from '../../testing/project.ts';
import { matchingGenerator } from './matching-generator.ts';

const bank = project({
  flows: `flows:
  ueberweisung:
    name: Überweisung
    description: Geld an eine andere Person überweisen.
    examples: [ich möchte Geld überweisen]
    steps:
      - collect: recipient
      - collect: amount
        description: amount of money
      - collect: confirmed
        ask_before_filling: true
      - action: utter_sent
  karte_sperren: {name: Kartensperre, description: Eine Karte sperren., examples: [ich habe meine Karte verloren], steps: [{collect: recipient}]}
  termin: {name: Termin, description: Einen Termin vereinbaren., steps: [{collect: appointment_date}, {action: utter_sent}]}
`,
  domain: `
slots: {recipient: {type: text}, amount: {type: float}, confirmed: {type: bool}, appointment_date: {type: text}}
responses:
  utter_ask_recipient: [{text: "An wen?"}]
  utter_ask_amount: [{text: "Wie viel?"}]
  utter_ask_confirmed: [{text: "Sicher?"}]
  utter_ask_appointment_date: [{text: "Wann?"}]
  utter_sent: [{text: "Fertig."}]
`,
});

/** Says some messages; the conversation after the last one. */
async function after(...messages: readonly string[]): Promise<Conversation> {
  const chat = new Conversation(bank, { generator: matchingGenerator({ language: 'de' }) });
  for (const text of messages) await chat.send({ text });
  return chat;
}

test.each([
  ['Ich möchte Geld überweisen', 'ueberweisung'],
  ['hallo, könnte ich bitte etwas Geld schicken', 'ueberweisung'],
  ['Geld überwiesen bekommen', 'ueberweisung'],
  ['meine Karte wurde geklaut', 'karte_sperren'],
  ['bitte die Karte sperren!', 'karte_sperren'],
  ['ich brauche einen Termin', 'termin'],
  ['Karte blockiren', 'karte_sperren'],
])('%s starts %s', async (text, flow) => {
  expect((await after(text)).flowEvents[0]).toBe(`flow_started ${flow}`);
});

test.each([
  'wie wird das Wetter morgen?',
  'bestell mir eine Pizza',
  'was passiert wenn ich meine Karte sperre?',
])('%s starts nothing', async (text) => {
  expect((await after(text)).flowEvents).toEqual([]);
});

test.each([
  ['hallo', 'greeting'],
  ['Guten Morgen!', 'greeting'],
  ['danke', 'thanks'],
  ['was kannst du?', 'capabilities'],
  ['wer bist du', 'identity'],
  ['tschüss', 'farewell'],
])('%s is small talk about %s', async (text, topic) => {
  const { outcome } = await after(text);
  expect(outcome.raised[0]?.context['topic']).toBe(topic);
});

test('names and numbers are filled', async () => {
  const chat = await after('überweise fünfundzwanzig Euro an Bob');
  expect(chat.slot('recipient')).toBe('Bob');
  expect(chat.slot('amount')).toBe(25);
});

test.each([
  ['1.200,50', 1200.5],
  ['10.000', 10_000],
  ['zweihundert', 200],
  ['dreißig Euro', 30],
])('%s is a number', async (text, amount) => {
  expect((await after('Geld überweisen', 'Bob', text)).slot('amount')).toBe(amount);
});

// 15 June 2025 is a Sunday.
test.each([
  ['morgen', '2025-06-16'],
  ['am Freitag', '2025-06-20'],
  ['3. Juli', '2025-07-03'],
  ['in zwei Wochen', '2025-06-29'],
  ['am 24.12.2025', '2025-12-24'],
])('%s is a date', async (text, day) => {
  const chat = await after('ich brauche einen Termin', text);
  const set = chat.log.filter(({ name }) => name === 'appointment_date').map(({ value }) => value);
  expect(set).toContain(day);
});

test.each([
  ['ja bitte', true],
  ['klar', true],
  ['nein danke', false],
  ['nee', false],
])('%s is %s', async (text, value) => {
  const chat = await after('überweise 20 Euro an Bob', text);
  const set = chat.log.filter(({ name }) => name === 'confirmed').map((event) => event['value']);
  expect(set).toContain(value);
});

test('hesitation and cancelling are understood', async () => {
  const before = 'überweise 20 Euro an Bob';
  const chat = await after(before, 'weiß nicht');
  expect(chat.outcome.activeFlow).toBe('ueberweisung');
  expect(chat.slot('confirmed')).toBeNull();
  expect((await after(before, 'abbrechen')).outcome.cancelledFlows).toHaveLength(1);
});

const table = project({
  flows: `flows:
  tisch:
    name: Tischreservierung
    description: Einen Tisch reservieren.
    examples: [einen Tisch reservieren]
    steps:
      - collect: guests
        description: number of people
      - collect: reservation_date
      - collect: reservation_time
      - collect: outside
      - collect: name
      - action: utter_done
`,
  domain: `
slots:
  guests: {type: float}
  reservation_date: {type: text}
  reservation_time: {type: text}
  outside: {type: bool}
  name: {type: text}
responses:
  utter_ask_guests: [{text: "Wie viele?"}]
  utter_ask_reservation_date: [{text: "Welcher Tag?"}]
  utter_ask_reservation_time: [{text: "Um wie viel Uhr?"}]
  utter_ask_outside: [{text: "Draußen?"}]
  utter_ask_name: [{text: "Auf welchen Namen?"}]
  utter_done: [{text: "Fertig."}]
`,
});

/** What a slot was set to, in the order of the answers. */
async function atTable(slot: string, ...messages: readonly string[]): Promise<unknown[]> {
  const chat = new Conversation(table, { generator: matchingGenerator({ language: 'de' }) });
  for (const text of messages) await chat.send({ text });
  return chat.log.filter(({ name }) => name === slot).map((event) => event['value']);
}

test.each([
  ['meine Mutter', 'meine Mutter'],
  ['der Vermieter', 'der Vermieter'],
  ['Frau Groß', 'Frau Groß'],
  ['An Familie Weiß-Köhler', 'Familie Weiß-Köhler'],
  ['das Haus am See', 'das Haus am See'],
])('%s is kept as it was written', async (text, recipient) => {
  expect((await after('ich möchte Geld überweisen', text)).slot('recipient')).toBe(recipient);
});

test.each([
  ['zweitausendfünfhundert', 2500],
  ['einundzwanzigtausenddreihundert', 21_300],
  ['hundertfünf', 105],
  ['ein Dutzend', 12],
  ['5k', 5000],
])('%s is the number %d', async (text, amount) => {
  expect((await after('Geld überweisen', 'Bob', text)).slot('amount')).toBe(amount);
});

test.each([
  ['zu zweit', 2],
  ['wir sind zu dritt', 3],
  ['meine Frau und ich', 2],
  ['nur ich', 1],
  ['ein Dutzend', 12],
  ['vier Erwachsene und zwei Kinder', 6],
])('%s are %d people', async (text, guests) => {
  expect(await atTable('guests', 'einen Tisch reservieren', text)).toContain(guests);
});

test.each([
  ['19 Uhr', '19:00'],
  ['um 19 Uhr', '19:00'],
  ['um 19 Uhr 30', '19:30'],
  ['19.30 Uhr', '19:30'],
  ['19.30', '19:30'],
  ['halb acht', '07:30'],
  ['halb acht abends', '19:30'],
  ['viertel nach sieben', '07:15'],
  ['sieben Uhr abends', '19:00'],
])('%s is the time %s', async (text, time) => {
  const said = await atTable('reservation_time', 'Tisch für 4 reservieren', 'morgen', text);
  expect(said).toContain(time);
});

test('a yes is no time of day', async () => {
  const said = await atTable('reservation_time', 'Tisch für 4 reservieren', 'morgen', 'ja');
  expect(said).not.toContain('yes');
  expect(said).not.toContain('ja');
});

test.each([
  ['heute in einer Woche', '2025-06-22'],
  ['am ersten Juli', '2025-07-01'],
  ['am einundzwanzigsten Juni', '2025-06-21'],
  ['am 3. Mai', '2026-05-03'],
])('%s is the day %s', async (text, day) => {
  expect(await atTable('reservation_date', 'Tisch für 4 reservieren', text)).toContain(day);
});

test('a first message fills the guests, the day and the time', async () => {
  const request = 'Tisch für 4 morgen um 19 Uhr';
  expect(await atTable('guests', request)).toContain(4);
  expect(await atTable('reservation_date', request)).toContain('2025-06-16');
  expect(await atTable('reservation_time', request)).toContain('19:00');
});

test.each([
  ['drinnen', false],
  ['lieber drinnen', false],
  ['draußen', true],
  ['auf der Terrasse', true],
  ['doch', true],
  ['na klar', true],
  ['na sicher', true],
])('%s says whether outside: %s', async (text, value) => {
  const said = await atTable('outside', 'Tisch für 4 morgen um 19 Uhr', text);
  expect(said).toContain(value);
});

test.each(['na ja', 'weiß nicht so recht'])('%s is neither yes nor no', async (text) => {
  const said = await atTable('outside', 'Tisch für 4 morgen um 19 Uhr', text);
  expect(said.filter((value) => value !== null)).toEqual([]);
});

test.each(['mach das', 'na klar'])('%s confirms', async (text) => {
  const chat = await after('überweise 20 Euro an Bob', text);
  const set = chat.log.filter(({ name }) => name === 'confirmed').map((event) => event['value']);
  expect(set).toContain(true);
});

test.each(['wie reserviere ich einen Tisch?', 'wie kann ich einen Tisch reservieren?'])(
  '%s reserves no table',
  async (text) => {
    const chat = new Conversation(table, { generator: matchingGenerator({ language: 'de' }) });
    await chat.send({ text });
    expect(chat.flowEvents).toEqual([]);
  },
);
