import { expect, test } from 'vitest';
import type { JsonObject } from '../protocol/index.ts';
import { InProcessActions } from './actions/in-process.ts';
import { defineAction } from './actions/runner.ts';
import type { CommandGenerator } from './commands/generator.ts';
import type { CallHandler } from './executor/call-handler.ts';
import { Conversation, start } from './testing/conversation.ts';
import { project } from './testing/project.ts';

const asking: CommandGenerator = {
  name: 'asking',
  generate: async ({ onPrompt }) => {
    const usage = { input: 812, output: 9 };
    const prompt = `You are the ear. ${'x'.repeat(30_000)}`;
    for (let call = 0; call < 9; call += 1) {
      onPrompt?.({ component: 'llm', model: 'm', prompt, answer: 'a', usage, durationMs: 4 });
    }
    return [start('look')];
  },
};

function chatOf(seen: string[]): Conversation {
  const watchers = project({
    domain: 'actions: [action_look]',
    flows: 'flows: {look: {description: Look., steps: [{action: action_look}]}}',
  });
  const look = defineAction({
    name: 'action_look',
    run: async ({ tracker }) => void seen.push(JSON.stringify(await tracker())),
  });
  return new Conversation(watchers, { generator: asking, actions: new InProcessActions([look]) });
}

test('the log keeps what a model was asked and what it cost, within bounds', async () => {
  const chat = chatOf([]);
  await chat.send({ text: 'look' });
  const heard = chat.last?.events.find(({ event }) => event === 'user');
  const parsed = heard?.['parse_data'] as JsonObject | undefined;
  const prompts = (parsed?.['prompts'] ?? []) as readonly JsonObject[];
  expect(prompts).toHaveLength(4);
  expect(prompts[0]).toEqual({
    component: 'llm',
    model: 'm',
    prompt: expect.stringMatching(/^You are the ear\. x+… \(30017 characters\)$/) as string,
    answer: 'a',
    usage: { input_tokens: 812, output_tokens: 9 },
    duration_ms: 4,
  });
  expect(JSON.stringify(prompts[0]).length).toBeLessThan(25_000);
});

test('actions are not sent what a model was asked', async () => {
  const seen: string[] = [];
  const chat = chatOf(seen);
  await chat.send({ text: 'look' });
  await chat.send({ text: 'look again' });
  expect(seen).toHaveLength(2);
  expect(seen[1]).toContain('look again');
  for (const tracker of seen) expect(tracker).not.toContain('You are the ear');
});

test('what sub agents and the rephraser ask of models is kept with the end of the turn', async () => {
  const usage = { input: 40, output: 4 };
  const note = { model: 'm', prompt: 'Say it nicely', answer: 'a', usage, durationMs: 2 };
  const handler: CallHandler = {
    kind: 'agent',
    handles: () => true,
    run: async ({ onPrompt }) => {
      for (let call = 0; call < 20; call += 1) onPrompt?.({ ...note, component: 'finder' });
      return { status: 'completed', messages: [], events: [], metadata: {} };
    },
  };
  const seen: string[] = [];
  const look = defineAction({
    name: 'action_look',
    run: async ({ tracker }) => void seen.push(JSON.stringify(await tracker())),
  });
  const chat = new Conversation(
    project({
      domain: 'actions: [action_look]',
      flows: `
flows:
  find: {description: Find., steps: [{call: finder}]}
  look: {description: Look., steps: [{action: action_look}]}
`,
    }),
    {
      actions: new InProcessActions([look]),
      callHandlers: [handler],
      rephraser: {
        rephraseAll: true,
        rephrase: async ({ text, noting }) => {
          noting?.onPrompt?.({ ...note, component: 'rephraser' });
          return text;
        },
      },
    },
  );
  await chat.say('find', start('find'));
  const listen = chat.last?.events.findLast(({ name }) => name === 'action_listen');
  const metadata = listen?.['metadata'] as JsonObject | undefined;
  const prompts = (metadata?.['prompts'] ?? []) as readonly JsonObject[];
  expect(prompts).toHaveLength(8);
  expect(prompts[0]).toEqual({
    component: 'finder',
    model: 'm',
    prompt: 'Say it nicely',
    answer: 'a',
    usage: { input_tokens: 40, output_tokens: 4 },
    duration_ms: 2,
  });
  await chat.say('look', start('look'));
  const again = chat.last?.events.findLast(({ name }) => name === 'action_listen');
  expect(JSON.stringify(again?.['metadata'])).toContain('"component":"rephraser"');
  expect(seen[0]).toContain('action_listen');
  expect(seen[0]).not.toContain('Say it nicely');
});
