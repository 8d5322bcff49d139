import { expect, onTestFinished, test } from 'vitest';
import { createModels, type Script, startScriptedModelServer } from '../../models/index.ts';
import { silentLogger } from '../../telemetry/index.ts';
import type { NlgEndpoint } from '../project/endpoints.ts';
import { Conversation, set, start } from '../testing/conversation.ts';
import { project } from '../testing/project.ts';
import { rephraserOf } from './nlg.ts';

const florist = project({
  domain: `
slots:
  flower: {type: text}
responses:
  utter_ask_flower: [{text: "Which flower?", metadata: {rephrase: true}}]
  utter_sold:
    - text: "One {flower}."
      metadata: {rephrase: true, rephrase_prompt: "In verse, for {{ current_input }}: {{ suggested_response }}"}
  utter_bye: [{text: "Goodbye."}]
`,
  flows: `
flows:
  buy:
    description: Buy a flower.
    run_pattern_completed: false
    steps: [{collect: flower}, {action: utter_sold}, {action: utter_bye}]
`,
});

type Rephrasing = Extract<NlgEndpoint, { type: 'rephrase' }>;

/** The florist, whose words a model rewrites. */
async function open(
  script: Script,
  nlg: Partial<Rephrasing> = {},
  {
    timeoutMs,
    language,
  }: { readonly timeoutMs?: number; readonly language?: string | undefined } = {},
) {
  const server = await startScriptedModelServer(script);
  onTestFinished(() => server[Symbol.asyncDispose]());
  const entry = { provider: 'openai-compatible', model: 'scripted', api_base: server.url };
  const rephraser = rephraserOf(
    {
      type: 'rephrase',
      rephraseAll: false,
      maxHistoricalTurns: 5,
      modelGroup: undefined,
      prompt: undefined,
      ...nlg,
    },
    {
      models: createModels([{ id: 'words', models: [entry] }], { environment: {} }),
      files: new Map([
        ['own.jinja2', 'Shout: {{ suggested_response }}\n{{ history }}'],
        ['language.jinja2', 'In {{ language }}.'],
      ]),
      logger: silentLogger,
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(language !== undefined && { language }),
    },
  );
  const chat = new Conversation(florist, rephraser === undefined ? {} : { rephraser });
  const prompts = () => server.requests.map(({ lastUserText }) => lastUserText);
  return { chat, prompts };
}

test('a response that asks for it is said in the words of the model, others as written', async () => {
  const { chat, prompts } = await open([' And which flower may it be? ', 'A rose is sold.']);
  expect(await chat.say('a flower, please', start('buy'))).toEqual(['And which flower may it be?']);
  expect(await chat.say('rose', set('flower', 'rose'))).toEqual(['A rose is sold.', 'Goodbye.']);
  expect(prompts()[0]).toContain('Line to rewrite: Which flower?');
  expect(prompts()[0]).toContain('user: a flower, please');
});

test('rephrase_all says everything in other words', async () => {
  const { chat } = await open(() => 'Other words.', { rephraseAll: true });
  await chat.say('a flower, please', start('buy'));
  expect(await chat.say('rose', set('flower', 'rose'))).toEqual(['Other words.', 'Other words.']);
});

test.each([
  ['an error', { error: { status: 500 } }],
  ['silence', { hang: true }],
  ['an empty answer', { text: ' ' }],
  ['a broken line', { disconnect: 'before' as const }],
])('%s of the model leaves the response as it is written', async (_, reply) => {
  const { chat } = await open(() => reply, {}, { timeoutMs: 200 });
  expect(await chat.say('a flower, please', start('buy'))).toEqual(['Which flower?']);
});

test('a response may bring a prompt of its own, and so may the project', async () => {
  const { chat, prompts } = await open(() => 'ok', { prompt: 'own.jinja2' });
  await chat.say('a flower, please', start('buy'));
  await chat.say('rose', set('flower', 'rose'));
  expect(prompts()[0]).toMatch(/^Shout: Which flower\?/);
  expect(prompts()[1]).toBe('In verse, for rose: One rose.');
});

test.each([
  [undefined, {}, 'English'],
  ['de', {}, 'German'],
  ['pt-BR', {}, 'Brazilian Portuguese'],
  ['de', { language: 'fr' }, 'French'],
  ['not a code', {}, 'not a code'],
])('prompts know the language by its name: %s, %j', async (language, slots, expected) => {
  const { chat, prompts } = await open(() => 'ok', { prompt: 'language.jinja2' }, { language });
  for (const [name, value] of Object.entries(slots)) {
    await chat.record({ event: 'slot', name, value });
  }
  await chat.say('a flower, please', start('buy'));
  expect(prompts()).toEqual([`In ${expected}.`]);
});

test.each([
  [0, /^Shout: Which flower\?\s*$/],
  [1, /^Shout: Which flower\?(\n(user|bot): .*){2}$/],
])('max_historical_turns: %i turns are shown', async (maxHistoricalTurns, expected) => {
  const { chat, prompts } = await open(() => 'Which flower?', {
    prompt: 'own.jinja2',
    maxHistoricalTurns,
  });
  await chat.say('a flower, please', start('buy'));
  await chat.say('hm', { command: 'repeat bot messages' });
  await chat.say('hm', { command: 'cannot handle', reason: 'x' });
  expect(prompts().at(-1)).toMatch(expected);
});

test('a model that is named must be there', () => {
  expect(() =>
    rephraserOf(
      {
        type: 'rephrase',
        rephraseAll: false,
        maxHistoricalTurns: 5,
        modelGroup: 'missing',
        prompt: undefined,
      },
      { models: new Map(), files: new Map(), logger: silentLogger },
    ),
  ).toThrow('nlg: rephrasing needs a model');
});
