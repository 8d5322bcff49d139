import { expect, test } from 'vitest';
import { scriptedModel } from '../../models/index.ts';
import type { GeneratorConfig } from '../project/config-file.ts';
import { createGenerator } from './create-generator.ts';
import { situation } from './testing/bank.ts';

const config: GeneratorConfig = {
  component: 'CompactLLMCommandGenerator',
  commands: 'v2',
  modelGroup: 'main',
  promptTemplate: undefined,
  flowRetrieval: { isActive: true, numFlows: 20, turnsToEmbed: 1, shouldEmbedSlots: true },
  maxCharacters: 420,
  includeDateTime: true,
  timezone: 'UTC',
};

test('without a generator in the pipeline no model is needed', () => {
  expect(createGenerator(undefined).name).toBe('matching');
});

test('with one, its model is asked', async () => {
  const model = scriptedModel(['cancel flow']);
  const generator = createGenerator(config, { models: new Map([['main', model]]) });
  expect(generator.name).toBe('llm');
  expect(await generator.generate(situation({ text: 'stop' }))).toEqual([
    { command: 'cancel flow' },
  ]);
});

test('the only model is meant when none is named', () => {
  const models = new Map([['other', scriptedModel([])]]);
  expect(createGenerator({ ...config, modelGroup: undefined }, { models }).name).toBe('llm');
});

test('a project that has no models runs without one, and says so', () => {
  const warnings: string[] = [];
  const logger = {
    debug() {},
    info() {},
    error() {},
    child: () => logger,
    warn: (_fields: object, event: string) => warnings.push(event),
  };
  expect(createGenerator(config, { logger }).name).toBe('matching');
  expect(warnings).toEqual(['generator.no_model']);
});

test('a group that is not there is an error with a suggestion', () => {
  const models = new Map([['mian', scriptedModel([])]]);
  expect(() => createGenerator(config, { models })).toThrow(
    'CompactLLMCommandGenerator: no model group "main"; did you mean "mian"?',
  );
});

test('the prompt template is one of the project files', async () => {
  const model = scriptedModel(['cancel flow']);
  const models = new Map([['main', model]]);
  const own = { ...config, promptTemplate: 'prompts/own.jinja2' };
  const files = new Map([['prompts/own.jinja2', 'Said: {{ user_message }}']]);
  await createGenerator(own, { models, files }).generate(situation({ text: 'stop' }));
  expect(model.requests[0]?.promptText).toBe('Said: stop');
  expect(() => createGenerator(own, { models })).toThrow('no prompt template prompts/own.jinja2');
});
