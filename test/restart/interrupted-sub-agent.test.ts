import { McpServer } from '@modelcontextprotocol/server';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { type HttpSample, startHttpSample } from '../../src/mcp/testing/http-server.ts';
import {
  type Script,
  type ScriptedModelServer,
  startScriptedModelServer,
} from '../../src/models/index.ts';
import { type ProjectFolder, projectFolder } from '../support/greenhouse.ts';
import { type AssistantProcess, begin, startAssistant, textsOf } from './assistant-process.ts';

const files = {
  'config.yml': 'assistant_id: desk\npipeline: [{name: MatchingCommandGenerator}]\n',
  'domain.yml': `
session_config: {start_session_after_expiry: false}
actions: [action_note]
slots:
  hotel: {type: text, initial_value: Ritz, mappings: [{type: controlled}]}
  booking: {type: any, mappings: [{type: controlled}]}
responses:
  utter_booked: [{text: "Booking {booking}."}]
`,
  'data/flows.yml': `
flows:
  reserve:
    description: Reserve a room.
    examples: [reserve a room]
    run_pattern_completed: false
    steps:
      - call: book
        mcp_server: hotels
        mapping:
          input: [{param: hotel, slot: hotel}]
          output: [{slot: booking, value: result.structuredContent.id}]
      - action: action_note
      - action: utter_booked
  trip:
    description: Plan a trip.
    examples: [plan a trip]
    run_pattern_completed: false
    steps:
      - call: finder
      - action: action_note
`,
  'sub_agents/finder/config.yml': `
agent: {name: finder, description: Finds a hotel.}
configuration: {llm: {model_group: main}}
connections: {mcp_servers: [{name: hotels}]}
`,
  'endpoints.yml': `
store: {type: sqlite, path: store.db}
a2a_server: {description: Books trips., on_interrupted: run-again}
action_endpoint: {actions_module: actions.ts}
model_groups:
  - id: main
    models: [{provider: self-hosted, model: scripted, api_base: "\${MODEL}", api_key: "\${KEY}"}]
mcp_servers:
  - {name: hotels, url: "\${HOTELS}", type: http}
`,
  // Hangs where HANG says so; ends otherwise.
  'actions.ts': `
export const note = {
  name: 'action_note',
  isIdempotent: true,
  async run({ utter }: { utter: (text: string) => void }) {
    process.send?.({ event: 'action_note' });
    if (process.env.HANG === 'action_note') await new Promise(() => {});
    utter('Noted.');
  },
};
`,
};

let folder: ProjectFolder;
let hotels: HttpSample;
let model: ScriptedModelServer | undefined;
/** Held back until it resolves. */
let gate: Promise<void>;
const processes: AssistantProcess[] = [];

beforeEach(async () => {
  folder = await projectFolder(files);
  gate = Promise.resolve();
  hotels = await startHttpSample({
    create: (calls) => {
      const mcp = new McpServer({ name: 'hotels', version: '1' }, { capabilities: { tools: {} } });
      mcp.registerTool(
        'book',
        {
          description: 'Books a hotel.',
          inputSchema: z.object({ hotel: z.string() }),
          outputSchema: z.object({ id: z.number() }),
        },
        async ({ hotel }) => {
          const key = `book ${hotel}`;
          calls[key] = (calls[key] ?? 0) + 1;
          await gate;
          return { content: [{ type: 'text', text: 'id 7' }], structuredContent: { id: 7 } };
        },
      );
      return mcp;
    },
  });
});

afterEach(async () => {
  for (const one of processes.splice(0)) await one.kill();
  await model?.close();
  model = undefined;
  await hotels.close();
  await folder[Symbol.asyncDispose]();
});

async function start(environment: Readonly<Record<string, string>> = {}) {
  const started = await startAssistant(folder.directory, {
    KEY: 'none',
    MODEL: model?.url ?? 'http://127.0.0.1:1/v1',
    HOTELS: hotels.url,
    ...environment,
  });
  processes.push(started);
  return started;
}

/** A model that books the Ritz, and then completes the task; the call with this number hangs. */
async function startModel(hanging: number): Promise<ScriptedModelServer> {
  const script: Script = ({ messages }, index) => {
    if (index === hanging) return { hang: true };
    return messages.at(-1)?.role === 'tool'
      ? { text: 'The Ritz is yours.', toolCalls: [{ name: 'task_completed', input: {} }] }
      : { toolCalls: [{ name: 'book', input: { hotel: 'Ritz' } }] };
  };
  model = await startScriptedModelServer(script);
  return model;
}

test('a finished call of an MCP tool is not repeated after the process died; its result is still known', async () => {
  const before = await start({ HANG: 'action_note' });
  const id = await begin(before, 'reserve a room');
  await before.ran('action_note');
  await before.kill();
  const after = await start();
  const task = await after.client.waitForEnd(id);
  expect(textsOf(task)).toEqual(['Noted.', 'Booking 7.']);
  expect(task.status.state).toBe('TASK_STATE_COMPLETED');
  expect(hotels.calls).toEqual({ 'book Ritz': 1 });
});

test('a call of an MCP tool that was under way when the process died is not repeated, and the user is told', async () => {
  gate = new Promise(() => {});
  const before = await start();
  const id = await begin(before, 'reserve a room');
  await expect.poll(() => hotels.calls).toEqual({ 'book Ritz': 1 });
  await before.kill();
  gate = Promise.resolve();
  const after = await start();
  const task = await after.client.waitForEnd(id);
  expect(task.status.state).toBe('TASK_STATE_FAILED');
  expect(textsOf(task).join(' ')).toContain("I can't tell whether it took effect");
  expect(hotels.calls).toEqual({ 'book Ritz': 1 });
});

test('a ReAct sub agent continues after its finished steps: no tool runs twice, and no answer of the model is asked for again', async () => {
  const { requests } = await startModel(1);
  const before = await start();
  const id = await begin(before, 'plan a trip');
  await expect.poll(() => requests.length).toBe(2);
  await before.kill();
  const after = await start();
  const task = await after.client.waitForEnd(id);
  expect(textsOf(task)).toEqual(['The Ritz is yours.', 'Noted.']);
  expect(task.status.state).toBe('TASK_STATE_COMPLETED');
  expect(hotels.calls).toEqual({ 'book Ritz': 1 });
  // The first answer came from the journal, with the result of its tool; only the second was asked for again.
  expect(requests).toHaveLength(3);
  expect(requests[2]?.messages).toEqual(requests[1]?.messages);
});

test('an ended ReAct sub agent is not asked again after the process died', async () => {
  const { requests } = await startModel(-1);
  const before = await start({ HANG: 'action_note' });
  const id = await begin(before, 'plan a trip');
  await before.ran('action_note');
  await before.kill();
  const after = await start();
  const task = await after.client.waitForEnd(id);
  expect(textsOf(task)).toEqual(['The Ritz is yours.', 'Noted.']);
  expect(requests).toHaveLength(2);
  expect(hotels.calls).toEqual({ 'book Ritz': 1 });
});

test('a tool that a ReAct sub agent had started when the process died is not repeated, and the model is told', async () => {
  gate = new Promise(() => {});
  const { requests } = await startModel(-1);
  const before = await start();
  const id = await begin(before, 'plan a trip');
  await expect.poll(() => hotels.calls).toEqual({ 'book Ritz': 1 });
  await before.kill();
  gate = Promise.resolve();
  const after = await start();
  const task = await after.client.waitForEnd(id);
  expect(task.status.state).toBe('TASK_STATE_COMPLETED');
  expect(requests).toHaveLength(2);
  expect(requests[1]?.promptText).toContain('whether it took effect is unknown');
  expect(hotels.calls).toEqual({ 'book Ritz': 1 });
});
