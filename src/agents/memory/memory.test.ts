import { expect, test } from 'vitest';
import { scriptedModel } from '../../models/index.ts';
import { openMemory } from '../../store/index.ts';
import { llmAgent } from '../llm/llm-agent.ts';
import { Conversation } from '../testing/conversation.ts';
import { loadMemory, Memory } from './memory.ts';

const alice = { agent: 'clerk', caller: { tenant: '', subject: 'alice' } };

function texts(found: readonly { readonly text: string }[]): readonly string[] {
  return found.map(({ text }) => text);
}

test('memories are found by their words, the best first, in any script', async () => {
  const memory = new Memory(openMemory());
  await memory.add(alice, [
    { text: 'Alice is allergic to peanuts', author: 'alice', sessionId: 's1' },
    { text: 'Alice likes peanuts butter cookies, cookies and more cookies' },
    { text: '彼女は東京に住んでいます' },
    { text: 'Она живёт в Москве' },
  ]);
  expect(texts(await memory.search(alice, 'What about cookies?'))[0]).toContain('butter');
  expect(await memory.search(alice, 'allergic', { limit: 1 })).toMatchObject([
    { author: 'alice', sessionId: 's1', score: expect.any(Number) as number },
  ]);
  expect(texts(await memory.search(alice, '東京'))).toEqual(['彼女は東京に住んでいます']);
  expect(texts(await memory.search(alice, 'москве'))).toEqual(['Она живёт в Москве']);
  expect(texts(await memory.search(alice, 'peanut'))).toHaveLength(2);
  expect(await memory.search(alice, '!?')).toEqual([]);
});

test('memories of one user are invisible to others, and anonymous callers have none', async () => {
  const memory = new Memory(openMemory());
  const bob = { ...alice, caller: { tenant: '', subject: 'bob' } };
  const nobody = { ...alice, caller: { tenant: '', subject: '' } };
  await memory.add(alice, [{ text: 'a secret' }]);
  await memory.add(nobody, [{ text: 'a rumour' }]);
  expect(await memory.search(bob, 'secret')).toEqual([]);
  expect(await memory.search({ ...alice, agent: 'other' }, 'secret')).toEqual([]);
  expect(await memory.search(nobody, 'rumour')).toEqual([]);
});

test('what another process adds or forgets is seen by the next search', async () => {
  const store = openMemory();
  const [one, other] = [new Memory(store), new Memory(store)];
  await one.add(alice, [{ text: 'first fact' }]);
  expect(texts(await other.search(alice, 'fact'))).toEqual(['first fact']);
  await one.add(alice, [{ text: 'second fact' }]);
  expect(await other.search(alice, 'fact')).toHaveLength(2);
  await one.forget(alice);
  await one.add(alice, [{ text: 'only fact' }]);
  expect(texts(await other.search(alice, 'fact'))).toEqual(['only fact']);
});

test('memories are bounded in number and length, and added side by side without loss', async () => {
  const memory = new Memory(openMemory(), { maxEntries: 10, maxIndexes: 1 });
  await Promise.all(
    Array.from({ length: 10 }, (_, index) => memory.add(alice, [{ text: `fact ${index}` }])),
  );
  expect(await memory.search(alice, 'fact', { limit: 100 })).toHaveLength(10);
  await expect(memory.add(alice, [{ text: 'too much' }])).rejects.toMatchObject({
    code: 'PAYLOAD_TOO_LARGE',
    message: expect.stringMatching(/limit of 10: raise maxEntries, or .* forget$/),
  });
  await expect(memory.add(alice, [{ text: 'x'.repeat(20_000) }])).rejects.toThrow(/16384/);
  const bob = { ...alice, caller: { tenant: '', subject: 'bob' } };
  await memory.search(bob, 'fact');
  expect(await memory.search(alice, 'fact', { limit: 100 })).toHaveLength(10);
});

test('a model looks up its own caller by a tool', async () => {
  const memory = new Memory(openMemory());
  await memory.add(alice, [{ text: 'Likes the window seat' }]);
  const model = scriptedModel([
    { toolCalls: [{ name: 'load_memory', input: { query: 'seat' } }] },
    'The window',
  ]);
  const agent = llmAgent({ name: 'clerk', model, tools: [loadMemory(memory)] });
  await new Conversation(agent, { subject: 'alice' }).say('Which seat do I like?');
  expect(model.requests[1]?.promptText).toContain('Likes the window seat');
});
