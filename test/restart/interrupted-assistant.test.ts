import { readFile } from 'node:fs/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { agent, working } from '../../src/agents/index.ts';
import { serve, type Serving } from '../../src/http/index.ts';
import { artifact } from '../../src/protocol/index.ts';
import { type ProjectFolder, projectFolder } from '../support/greenhouse.ts';
import { type AssistantProcess, begin, startAssistant, textsOf } from './assistant-process.ts';

const files = {
  'config.yml': 'assistant_id: desk\npipeline: [{name: MatchingCommandGenerator}]\n',
  'domain.yml': `
session_config: {start_session_after_expiry: false}
actions: [action_pay, action_note]
responses:
  utter_done: [{text: "Done."}]
`,
  'data/flows.yml': `
flows:
  book:
    name: booking
    description: Book a trip.
    examples: [book a trip]
    run_pattern_completed: false
    steps:
      - action: action_pay
      - call: finder
      - action: action_note
      - action: utter_done
`,
  'sub_agents/finder/config.yml': `
agent: {name: finder, description: Finds a hotel., protocol: A2A}
configuration: {agent_card: "\${FINDER}/.well-known/agent-card.json"}
`,
  'endpoints.yml': `
store: {type: sqlite, path: store.db}
a2a_server: {description: Books trips., on_interrupted: run-again}
action_endpoint: {actions_module: actions.ts}
`,
  // Each action notes that it ran; the one that HANG names never ends.
  'actions.ts': `
import { appendFile } from 'node:fs/promises';
const action = (name: string, isIdempotent: boolean) => ({
  name,
  isIdempotent,
  async run({ utter }: { utter: (text: string) => void }) {
    await appendFile(new URL('ledger', import.meta.url), name + '\\n');
    process.send?.({ event: name });
    if (process.env.HANG === name) await new Promise(() => {});
    utter(name + ' ran.');
  },
});
export const pay = action('action_pay', false);
export const note = action('action_note', true);
`,
};

let folder: ProjectFolder;
let finder: Serving;
let found: string[];
/** Held back until it resolves. */
let gate: Promise<void>;
let asked: PromiseWithResolvers<void>;
const processes: AssistantProcess[] = [];

beforeEach(async () => {
  folder = await projectFolder(files);
  found = [];
  gate = Promise.resolve();
  asked = Promise.withResolvers();
  finder = await serve(
    agent({ name: 'finder' }, async function* (turn) {
      found.push(turn.message.messageId);
      yield working('Looking');
      asked.resolve();
      await gate;
      yield artifact('The Ritz.');
    }),
    { drainMs: 0 },
  );
});

afterEach(async () => {
  for (const one of processes.splice(0)) await one.kill();
  await finder.close();
  await folder[Symbol.asyncDispose]();
});

async function start(hang = ''): Promise<AssistantProcess> {
  const started = await startAssistant(folder.directory, { FINDER: finder.url, HANG: hang });
  processes.push(started);
  return started;
}

const ledger = () => readFile(folder.path('ledger'), 'utf8');

test('a finished answer of a sub agent is not lost with its process, and no action runs twice', async () => {
  const before = await start('action_note');
  const id = await begin(before, 'book a trip');
  await before.ran('action_note');
  await before.kill();
  const after = await start();
  const task = await after.client.waitForEnd(id);
  expect(textsOf(task)).toEqual(['action_pay ran.', 'The Ritz.', 'action_note ran.', 'Done.']);
  expect(task.status.state).toBe('TASK_STATE_COMPLETED');
  expect(found).toHaveLength(1);
  // The idempotent one that hung ran again; the payment did not.
  expect(await ledger()).toBe('action_pay\naction_note\naction_note\n');
});

test('a sub agent that was at work when the process died is followed, not called again', async () => {
  const release = Promise.withResolvers<void>();
  gate = release.promise;
  const before = await start();
  const id = await begin(before, 'book a trip');
  await asked.promise;
  await expect
    .poll(async () => JSON.stringify(await before.client.getTask({ id })))
    .toContain('Looking');
  await before.kill();
  const after = await start();
  release.resolve();
  const task = await after.client.waitForEnd(id);
  expect(textsOf(task)).toEqual(['action_pay ran.', 'The Ritz.', 'action_note ran.', 'Done.']);
  expect(found).toHaveLength(1);
  expect(await ledger()).toBe('action_pay\naction_note\n');
});

test('an action that was under way when the process died is not repeated, and the user is told', async () => {
  const before = await start('action_pay');
  const id = await begin(before, 'book a trip');
  await before.ran('action_pay');
  await before.kill();
  const after = await start();
  const task = await after.client.waitForEnd(id);
  expect(task.status.state).toBe('TASK_STATE_FAILED');
  expect(textsOf(task).join(' ')).toContain("I can't tell whether it took effect");
  expect(JSON.stringify(task.status.message?.parts[0]?.data)).toContain('outcome_unknown');
  expect(await ledger()).toBe('action_pay\n');
  expect(found).toEqual([]);
});

test('without on_interrupted the turn of a dead process fails, and nothing runs again', async () => {
  await folder.write({
    'endpoints.yml': files['endpoints.yml'].replace(', on_interrupted: run-again', ''),
  });
  const before = await start('action_pay');
  const id = await begin(before, 'book a trip');
  await before.ran('action_pay');
  await before.kill();
  const after = await start();
  const task = await after.client.waitForEnd(id);
  expect(task.status.state).toBe('TASK_STATE_FAILED');
  expect(JSON.stringify(task)).toContain('interrupted');
  expect(await ledger()).toBe('action_pay\n');
});
