import { afterEach, expect, test } from 'vitest';
import { inputRequired, textOf } from '../../agents/index.ts';
import {
  artifact,
  data,
  file,
  type JsonObject,
  message,
  type Task,
  text,
} from '../../protocol/index.ts';
import { openMemory } from '../../store/index.ts';
import { anonymous, Engine } from '../../tasks/index.ts';
import { skillAgent, type SkillHandler } from './skill-agent.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

const says = (what: string): SkillHandler =>
  async function* (turn) {
    yield artifact(`${what}: ${textOf(turn.message)}`);
  };

async function start(made: ReturnType<typeof skillAgent>) {
  const engine = await Engine.start({ agent: made, store: openMemory() });
  cleanups.push(() => engine.stop());
  return async (said: string, metadata: JsonObject = {}, more: object = {}): Promise<Task> => {
    const sent = message(said, { metadata, ...more });
    const outcome = await engine.send({ message: sent }, { caller: anonymous, version: '1.0' });
    if (!('task' in outcome)) throw new Error('expected a task');
    return outcome.task.value;
  };
}

const textIn = (task: Task): string | undefined => task.artifacts?.[0]?.parts[0]?.text;

test('a message goes to the skill it names, in any case, and the card knows all of them', async () => {
  const made = skillAgent({
    Echo: says('echo'),
    search: { description: 'Finds', take: says('search'), aliases: ['find'] },
  });
  expect(made.skills).toEqual([
    { id: 'Echo', name: 'Echo', description: 'Echo', tags: ['Echo'] },
    { id: 'search', name: 'search', description: 'Finds', tags: ['search'] },
  ]);
  const send = await start(made);
  expect(textIn(await send('a', { skill: 'eCHO' }))).toBe('echo: a');
  expect(textIn(await send('b', { skillId: 'search' }))).toBe('search: b');
  expect(textIn(await send('c', { skill: 'FIND' }))).toBe('search: c');
});

test('a skill that is not there is rejected with those that are', async () => {
  const send = await start(skillAgent({ a: says('a'), b: says('b') }));
  for (const metadata of [{ skill: 'constructor' }, {}]) {
    const task = await send('x', metadata);
    expect(task.status.state).toBe('TASK_STATE_REJECTED');
    expect(task.status.message?.parts.at(-1)?.text).toMatch(/a, b\.$/);
  }
});

test('a single skill need not be named', async () => {
  const send = await start(skillAgent({ only: says('only') }, { name: 'helper' }));
  expect(textIn(await send('x'))).toBe('only: x');
});

test('a task keeps its skill over its questions', async () => {
  const asking: SkillHandler = async function* (turn, conversation) {
    if (turn.isContinuation) yield* says('asking')(turn, conversation);
    else yield inputRequired('?');
  };
  const send = await start(skillAgent({ asking, other: says('other') }));
  const asked = await send('x', { skill: 'asking' });
  expect(textIn(await send('y', {}, { taskId: asked.id }))).toBe('asking: y');
});

test('a skill that remembers knows what was said in its conversation, in whatever task', async () => {
  const history: SkillHandler = async function* (turn, conversation) {
    const earlier = (await conversation.history()).map(textOf);
    if (earlier.length === 0) yield inputRequired('When?');
    else yield artifact([...earlier, textOf(turn.message)].join(' | '));
  };
  const made = skillAgent({ meet: { take: history, remembers: true }, forget: history });
  expect(made.skills[0]).not.toHaveProperty('remembers');
  const send = await start(made);
  const first = await send('meet me', { skill: 'meet' });
  expect(first.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  const { contextId } = first;
  // As callers do who know contexts and no tasks.
  const second = await send('noon', { skill: 'meet' }, { contextId });
  expect(second.id).not.toBe(first.id);
  expect(textIn(second)).toBe('meet me | When? | noon');
  const third = await send('thanks', { skill: 'meet' }, { contextId });
  expect(textIn(third)).toBe('meet me | When? | noon | meet me | When? | noon | thanks');
  const other = await send('hello', { skill: 'meet' });
  expect(other.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  // Without it, a conversation is what its task is.
  const forgetful = await send('x', { skill: 'forget' }, { contextId });
  expect(forgetful.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  const { id: taskId } = forgetful;
  expect(textIn(await send('y', {}, { taskId }))).toBe('x | When? | y');
});

test('what is remembered is bounded, and holds no files', async () => {
  const seen: number[] = [];
  const take: SkillHandler = async function* (_turn, conversation) {
    const earlier = await conversation.history();
    seen.push(earlier.length);
    expect(JSON.stringify(earlier)).not.toContain('raw');
    yield artifact([file({ bytes: new Uint8Array(10) }), data({ n: earlier.length })]);
  };
  const send = await start(
    skillAgent({ only: { take, remembers: true } }, { outputModes: ['*/*'], inputModes: ['*/*'] }),
  );
  for (let round = 0; round < 60; round += 1) await send('x', {}, { contextId: 'c' });
  expect(seen[1]).toBe(2);
  expect(Math.max(...seen)).toBe(100);
  await send('x'.repeat(300_000), {}, { contextId: 'c' });
  await send('x', {}, { contextId: 'c' });
  expect(seen.at(-1)).toBeLessThan(100);
});

test('a skill that remembers may answer with very many parts', async () => {
  const seen: number[] = [];
  const take: SkillHandler = async function* (_turn, conversation) {
    seen.push((await conversation.history()).length);
    yield artifact(Array.from({ length: 150_000 }, () => text('')));
  };
  const send = await start(skillAgent({ only: { take, remembers: true } }));
  await send('x', {}, { contextId: 'c' });
  const { status } = await send('x', {}, { contextId: 'c' });
  expect(status.state).toBe('TASK_STATE_COMPLETED');
  expect(seen).toHaveLength(2);
});

test('duplicates and nothing at all are refused at the start', () => {
  const twice = { echo: says('1'), ECHO: says('2') };
  expect(() => skillAgent(twice)).toThrow(/two skills called "ECHO"/);
  const alias = { echo: says('1'), say: { take: says('2'), aliases: ['Echo'] } };
  expect(() => skillAgent(alias)).toThrow(/two skills called "Echo"/);
  expect(() => skillAgent({})).toThrow(/no skills/);
});
