import { afterEach, expect, test } from 'vitest';
import { inputRequired, textOf } from '../../agents/index.ts';
import { artifact, type JsonObject, message, type Task } from '../../protocol/index.ts';
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
    expect(task.status.message?.parts.at(-1)?.text).toMatch(/There are: a, b\./);
  }
});

test('a single skill need not be named', async () => {
  const send = await start(skillAgent({ only: says('only') }, { name: 'helper' }));
  expect(textIn(await send('x'))).toBe('only: x');
});

test('a task keeps its skill over its questions', async () => {
  const asking: SkillHandler = async function* (turn) {
    if (turn.isContinuation) yield* says('asking')(turn);
    else yield inputRequired('?');
  };
  const send = await start(skillAgent({ asking, other: says('other') }));
  const asked = await send('x', { skill: 'asking' });
  expect(textIn(await send('y', {}, { taskId: asked.id }))).toBe('asking: y');
});

test('duplicates and nothing at all are refused at the start', () => {
  const twice = { echo: says('1'), ECHO: says('2') };
  expect(() => skillAgent(twice)).toThrow(/two skills called "ECHO"/);
  const alias = { echo: says('1'), say: { take: says('2'), aliases: ['Echo'] } };
  expect(() => skillAgent(alias)).toThrow(/two skills called "Echo"/);
  expect(() => skillAgent({})).toThrow(/no skills/);
});
