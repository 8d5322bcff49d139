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
