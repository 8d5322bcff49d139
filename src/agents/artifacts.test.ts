import { expect, test } from 'vitest';
import { scriptedModel } from '../models/index.ts';
import { openMemory } from '../store/index.ts';
import { llmAgent } from './llm/llm-agent.ts';
import { Conversation } from './testing/conversation.ts';
import { Artifacts, loadArtifact } from './artifacts.ts';

const scope = { agent: 'clerk', caller: { tenant: '', subject: 'alice' }, sessionId: 's1' };

test('artifacts keep all their versions, from 1', async () => {
  const artifacts = new Artifacts(openMemory().records, { now: () => 5 });
  expect(await artifacts.save(scope, 'report', [{ text: 'a' }])).toBe(1);
  expect(await artifacts.save(scope, 'report', [{ text: 'b' }], { by: 'me' })).toBe(2);
  expect(await artifacts.load(scope, 'report')).toEqual({
    name: 'report',
    version: 2,
    parts: [{ text: 'b' }],
    metadata: { by: 'me' },
    createdAt: 5,
  });
  expect((await artifacts.load(scope, 'report', 1))?.parts).toEqual([{ text: 'a' }]);
  expect(await artifacts.load(scope, 'report', 3)).toBeUndefined();
  expect(await artifacts.load(scope, 'report', -1)).toBeUndefined();
  expect(await artifacts.versions(scope, 'report')).toEqual([1, 2]);
  expect(await artifacts.delete(scope, 'report')).toBe(true);
  expect(await artifacts.delete(scope, 'report')).toBe(false);
  expect(await artifacts.load(scope, 'report')).toBeUndefined();
});

test('names are found where they were saved: in the session, or with the user', async () => {
  const artifacts = new Artifacts(openMemory().records);
  await artifacts.save(scope, 'here', [{ text: 'x' }]);
  await artifacts.save(scope, 'user:everywhere', [{ text: 'y' }]);
  const elsewhere = { ...scope, sessionId: 's2' };
  expect(await artifacts.list(scope)).toEqual(['here', 'user:everywhere']);
  expect(await artifacts.list(elsewhere)).toEqual(['user:everywhere']);
  expect(await artifacts.load(elsewhere, 'here')).toBeUndefined();
  const bob = { ...scope, caller: { tenant: '', subject: 'bob' } };
  expect(await artifacts.list(bob)).toEqual([]);
  const nobody = { ...scope, caller: { tenant: '', subject: '' } };
  await artifacts.save(nobody, 'user:mine', [{ text: 'z' }]);
  expect(await artifacts.list(nobody)).toEqual(['user:mine']);
  expect(await artifacts.load({ ...nobody, sessionId: 's2' }, 'user:mine')).toBeUndefined();
});

test('a name that starts like another is another', async () => {
  const artifacts = new Artifacts(openMemory().records);
  await artifacts.save(scope, 'a', [{ text: 'short' }]);
  await artifacts.save(scope, 'a00000001', [{ text: 'long' }]);
  expect(await artifacts.versions(scope, 'a')).toEqual([1]);
  expect((await artifacts.load(scope, 'a'))?.parts).toEqual([{ text: 'short' }]);
});

test('concurrent saves get a version each', async () => {
  const artifacts = new Artifacts(openMemory().records);
  const saves = Array.from({ length: 8 }, (_, index) =>
    artifacts.save(scope, 'shared', [{ text: String(index) }]),
  );
  expect((await Promise.all(saves)).toSorted((one, other) => one - other)).toEqual([
    1, 2, 3, 4, 5, 6, 7, 8,
  ]);
});

test('what is too large or has no name is refused', async () => {
  const artifacts = new Artifacts(openMemory().records);
  await expect(artifacts.save(scope, '', [{ text: 'x' }])).rejects.toThrow(/1 to 256/);
  const large = [{ text: 'x'.repeat(9 * 1024 * 1024) }];
  await expect(artifacts.save(scope, 'large', large)).rejects.toThrow(/more than the 8388608/);
});

test('a model reads artifacts of its own conversation by a tool', async () => {
  const artifacts = new Artifacts(openMemory().records);
  const model = scriptedModel([
    { toolCalls: [{ name: 'load_artifact', input: {}, id: 'a' }] },
    {
      toolCalls: [
        { name: 'load_artifact', input: { name: 'notes' }, id: 'b' },
        { name: 'load_artifact', input: { name: 'missing' }, id: 'c' },
      ],
    },
    'ok',
  ]);
  const agent = llmAgent({ name: 'clerk', model, tools: [loadArtifact(artifacts)] });
  const conversation = new Conversation(agent, { subject: 'alice' });
  await artifacts.save({ ...scope, sessionId: conversation.contextId }, 'notes', [
    { text: 'buy milk' },
    { data: { done: false } },
  ]);
  await conversation.say('What is in my notes?');
  expect(model.requests[1]?.promptText).toContain('{"names":["notes"]}');
  const last = model.requests[2]?.promptText ?? '';
  expect(last).toContain('buy milk');
  expect(last).toContain('there is no artifact named "missing"');
});
