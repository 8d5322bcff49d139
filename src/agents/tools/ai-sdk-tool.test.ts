import { jsonSchema, tool as aiTool } from '@ai-sdk/provider-utils';
import { type } from 'arktype';
import * as v from 'valibot';
import { expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { z as v3 } from 'zod/v3';
import { scriptedModel } from '../../models/index.ts';
import type { JsonObject } from '../../protocol/index.ts';
import { llmAgent } from '../llm/llm-agent.ts';
import { Conversation } from '../testing/conversation.ts';
import type { AgentTools, AiSdkTool } from './ai-sdk-tool.ts';
import { tool } from './tool.ts';

const call = (input: JsonObject) => ({ toolCalls: [{ name: 'weather', input }] });

/** What the model is shown of a call with this input. */
async function resultOf(tools: AgentTools, input: JsonObject = { town: 'Rome' }): Promise<string> {
  const model = scriptedModel([call(input), 'done']);
  await new Conversation(llmAgent({ name: 'a', model, tools })).say('go');
  return model.requests[1]?.messages.at(-1)?.text ?? '';
}

const run = ({ town }: { town: string }) => ({ town, degrees: 21 });
const description = 'The weather of a town.';

test.each([
  ['zod', tool({ name: 'weather', description, input: z.object({ town: z.string() }), run })],
  ['valibot', tool({ name: 'weather', description, input: v.object({ town: v.string() }), run })],
  ['arktype', tool({ name: 'weather', description, input: type({ town: 'string' }), run })],
])('a schema of %s types and checks the input of a tool', async (_vendor, made) => {
  expect(made.inputSchema).toMatchObject({
    type: 'object',
    properties: { town: { type: 'string' } },
    required: ['town'],
  });
  expect(await resultOf([made])).toContain('"degrees":21');
  expect(await resultOf([made], { town: 3 })).toContain('the input is not valid: town');
});

test('a schema without JSON Schema is refused by its vendor', () => {
  const input = { '~standard': { vendor: 'homemade', validate: (value: unknown) => ({ value }) } };
  expect(() => tool({ name: 'a', description, input, run: () => 1 })).toThrow('schema of homemade');
});

test('a schema of zod 4 from before its Standard JSON Schema is converted', async () => {
  const newer = z.object({ town: z.string() });
  const { vendor, validate } = newer['~standard'];
  const input: typeof newer = Object.create(newer, {
    '~standard': { value: { vendor, validate } },
  });
  const made = tool({ name: 'weather', description, input, run });
  expect(made.inputSchema).toMatchObject({ properties: { town: { type: 'string' } } });
  expect(await resultOf([made], { town: 3 })).toContain('the input is not valid: town');
});

const zod3 = v3.object({ town: v3.string() });
// Before 3.24 there was no Standard Schema.
const older3 = { _def: zod3._def, safeParse: () => undefined };
test.each([
  ['tool', zod3, (input: object) => tool({ name: 'weather', description, input, run } as never)],
  ['tool, older', older3, (input: object) => tool({ name: 'a', description, input, run } as never)],
  ['an AI SDK tool', zod3, (inputSchema: object) => agentWith({ inputSchema, execute: run })],
  ['an AI SDK tool, older', older3, (inputSchema: object) => agentWith({ inputSchema })],
  ['output', zod3, (output: object) => agentWith({}, { output })],
])('a schema of zod 3 is refused with the installed version and the fix: %s', (_, schema, make) => {
  expect(() => make(schema)).toThrow(
    /is a schema of zod 3 \(zod 4\.[\d.]+ is installed\).*; write import \{ z \} from 'zod'/,
  );
});

function agentWith(weather: object, more: object = {}) {
  const tools = Object.keys(weather).length === 0 ? {} : { weather };
  return llmAgent({ name: 'a', model: scriptedModel([]), tools, ...more } as never);
}

test('an AI SDK tool with an object of schemas as its inputSchema is refused', () => {
  expect(() => agentWith({ inputSchema: { town: z.string() } })).toThrow(
    'the inputSchema of the tool "weather" is an object with a schema in it ("town")',
  );
});

const inputSchema = z.object({ town: z.string() });

test('a tool of the AI SDK works as it is, under its name', async () => {
  const weather = aiTool({ description, inputSchema, execute: async (input) => run(input) });
  expect(await resultOf({ weather })).toContain('"degrees":21');
  expect(await resultOf({ weather }, { town: 3 })).toContain('the input is not valid');
});

test('a tool of the AI SDK may yield, and choose what its model sees', async () => {
  const weather = aiTool({
    inputSchema: jsonSchema<{ town: string }>({ type: 'object', properties: { town: {} } }),
    async *execute({ town }) {
      yield 'looking';
      yield `21 in ${town}`;
    },
    toModelOutput: ({ output }) => ({ type: 'text', value: `It is ${output}` }),
  });
  expect(await resultOf({ weather })).toContain('It is 21 in Rome');
});

test('needsApproval of the AI SDK is a confirmation', async () => {
  const weather = aiTool({ inputSchema, needsApproval: true, execute: (input) => run(input) });
  const model = scriptedModel([call({ town: 'Rome' }), 'It is 21 degrees.']);
  const conversation = new Conversation(llmAgent({ name: 'a', model, tools: { weather } }));
  expect((await conversation.say('go')).end.kind).toBe('input-required');
  expect((await conversation.say('yes')).text).toBe('It is 21 degrees.');
});

test('a tool of the AI SDK without execute waits for the result of the caller', async () => {
  const model = scriptedModel([call({ town: 'Rome' }), 'Thanks.']);
  const tools = { weather: aiTool({ description, inputSchema }) };
  const conversation = new Conversation(llmAgent({ name: 'a', model, tools }));
  expect((await conversation.say('go')).end.kind).toBe('input-required');
  await conversation.say('22 degrees');
  expect(model.requests[1]?.messages.at(-1)?.text ?? '').toContain('22 degrees');
});

test('a tool of the AI SDK in a list is refused: it has no name', () => {
  // As from JavaScript: the types refuse it, too.
  const tools = [aiTool({ inputSchema, execute: run })];
  const make = (): unknown =>
    Reflect.apply(llmAgent, undefined, [{ name: 'a', model: scriptedModel([]), tools }]);
  expect(make).toThrow('tools[0] is a tool of the AI SDK, which has no name; pass tools: {');
});

test.each(['provider', 'provider-defined'] as const)(
  'a tool of the type %s, which its provider runs, is refused by name',
  (type) => {
    const search = { type, id: 'openai.web_search', args: {}, inputSchema: z.object({}) };
    expect(() => llmAgent({ name: 'a', model: scriptedModel([]), tools: { search } })).toThrow(
      `agent "a": the tool "search" runs at the model's provider, which is not supported`,
    );
  },
);

test('tools have the types of AI SDK 5, too', () => {
  type Tool5 = {
    readonly inputSchema: unknown;
    readonly execute?: (input: { readonly town: string }, options: object) => unknown;
  } & ({ readonly type?: 'function' | undefined } | { readonly type: 'provider-defined' });
  expectTypeOf<Tool5>().toExtend<AiSdkTool>();
});
