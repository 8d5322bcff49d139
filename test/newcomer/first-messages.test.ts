import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Assistant, buildAssistant, loadProject } from '../../src/assistant/index.ts';
import { templateOf } from '../../src/cli/init/template.ts';

/** What people write first, and the flow that starts or the pattern (with its topic) that answers. */
const smallTalk: readonly (readonly [message: string, expected: string])[] = [
  ['hi', 'chitchat greeting'],
  ['Hello', 'chitchat greeting'],
  ['hey there', 'chitchat greeting'],
  ['heyyy', 'chitchat greeting'],
  ['Good morning!', 'chitchat greeting'],
  ['hello, anyone there?', 'chitchat greeting'],
  ['how are you?', 'chitchat wellbeing'],
  ['help', 'chitchat capabilities'],
  ['help me please', 'chitchat capabilities'],
  ['hi, can you help me?', 'chitchat capabilities'],
  ['what can you do?', 'chitchat capabilities'],
  ['what can i ask you', 'chitchat capabilities'],
  ['how does this work?', 'chitchat capabilities'],
  ['menu', 'chitchat capabilities'],
  ['who are you', 'chitchat identity'],
  ['are you a bot?', 'chitchat identity'],
  ['thanks', 'chitchat thanks'],
  ['ok thank you very much!', 'chitchat thanks'],
  ['bye', 'chitchat farewell'],
  ['have a nice day', 'chitchat farewell'],
  ['tell me a joke', 'chitchat fun'],
  ['lol', 'chitchat reaction'],
  ['start over', 'restart'],
  ['can I talk to a human?', 'human_handoff'],
  ["what's the weather like?", 'search'],
  ['who won the world cup?', 'search'],
  ['sing in spanish', 'cannot_handle'],
  ['asdfgh', 'cannot_handle'],
  ['???', 'cannot_handle'],
];

const bank: typeof smallTalk = [
  ['hi, I want to transfer money', 'transfer_money'],
  ["hello! I'd like to send 50 euros to Bob", 'transfer_money'],
  ['send money', 'transfer_money'],
  ['trasnfer money to bob', 'transfer_money'],
  ['pay someone', 'transfer_money'],
  ["good morning, what's my balance?", 'check_balance'],
  ['hey could you show me my balance please', 'check_balance'],
  ['balance?', 'check_balance'],
  ['how much money do I have', 'check_balance'],
  ['what did I spend', 'order_statement'],
  ['I lost my card', 'freeze_card'],
  ['my card was stolen!', 'freeze_card'],
  ['please block my card', 'freeze_card'],
  ['I need a new card', 'replace_card'],
  ['card', 'clarification'],
  ['I want to book an appointment', 'book_appointment'],
  ['can I get a loan?', 'plan_loan'],
  ['open a savings account', 'open_savings'],
  ['show my contacts', 'list_contacts'],
  ['I have a complaint', 'give_feedback'],
  ['sign me in', 'log_in'],
  ['order me a pizza', 'cannot_handle'],
];

const restaurant: typeof smallTalk = [
  ["hi, I'd like to book a table", 'book_table'],
  ['table for two please', 'book_table'],
  ['can I get a table for 4?', 'book_table'],
  ['reservation', 'book_table'],
  ['good evening, a table for 3 outside please', 'book_table'],
  ['when are you open?', 'opening_hours'],
  ['are you open on sunday?', 'opening_hours'],
  ['what time do you close?', 'opening_hours'],
  ['hours', 'opening_hours'],
  ['order a pizza', 'cannot_handle'],
];

/** The flow that a first message starts, else the pattern that answers it. */
async function outcomeOf(assistant: Assistant, text: string): Promise<string> {
  const { events, outcome } = await assistant.handle({ senderId: 'new', tracker: undefined, text });
  const started = events
    .flatMap(({ event, flow_id: id }) => (event === 'flow_started' ? [id] : []))
    .find((id) => typeof id === 'string' && !id.startsWith('pattern_'));
  if (typeof started === 'string') return started;
  const [raised] = outcome.raised;
  const topic = raised?.context['topic'];
  const pattern = raised?.flowId.replace('pattern_', '') ?? 'nothing';
  return typeof topic === 'string' ? `${pattern} ${topic}` : pattern;
}

async function open(directory: string): Promise<Assistant> {
  const { project, problems } = await loadProject({ directory }, process.env);
  expect(problems.all).toEqual([]);
  return await buildAssistant(project);
}

describe('first messages to the bank', () => {
  let assistant: Assistant;
  beforeAll(async () => {
    assistant = await open(join(import.meta.dirname, '../../examples/bank'));
  });
  afterAll(() => assistant.close());

  test.each([...smallTalk, ...bank])('%s: %s', async (message, expected) => {
    expect(await outcomeOf(assistant, message)).toBe(expected);
  });
});

describe('first messages to an assistant made by legate init', () => {
  const folder = mkdtempSync(join(tmpdir(), 'legate-first-'));
  let assistant: Assistant;
  beforeAll(async () => {
    const { files } = templateOf({ kind: 'assistant', name: 'inn', description: 'An inn.' });
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    assistant = await open(folder);
  });
  afterAll(async () => {
    await assistant.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test.each([...smallTalk, ...restaurant])('%s: %s', async (message, expected) => {
    expect(await outcomeOf(assistant, message)).toBe(expected);
  });

  test('the welcome and every answer to a greeting or an unknown request has buttons that start flows', async () => {
    for (const text of ['/session_start', 'hi', 'help', 'who are you', 'order a pizza']) {
      const answer = await assistant.handle({ senderId: 'new', tracker: undefined, text });
      const buttons = answer.messages.flatMap((message) => message.buttons ?? []);
      expect(buttons.map(({ title }) => title)).toEqual(['Table booking', 'Opening hours']);
      const started = buttons.map(({ payload }) => outcomeOf(assistant, payload));
      expect(await Promise.all(started)).toEqual(['book_table', 'opening_hours']);
    }
  });
});
