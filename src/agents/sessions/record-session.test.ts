import { expect, test } from 'vitest';
import { openMemory } from '../../store/index.ts';
import { turnRecords, type TurnRecordsOptions } from './turn-records.ts';

const { records } = openMemory();
const clock = { now: () => 1_000 };

function open(options: Partial<TurnRecordsOptions> = {}) {
  return turnRecords({
    records,
    clock,
    agent: 'clerk',
    caller: { tenant: '', subject: 'alice' },
    contextId: 'c1',
    taskId: 't1',
    messageId: 'm1',
    attempt: 1,
    isRepeatable: true,
    ...options,
  });
}

async function save(kept: ReturnType<typeof open>): Promise<void> {
  expect(await records.write(await kept.writes(), 1_000)).toBe(true);
}

test('each scope reaches as far as its prefix says', async () => {
  const first = open({ agent: 'scopes' });
  first.session.set('app:limit', 5);
  first.session.set('user:name', 'Alice');
  first.session.set('temp:draft', 'x');
  first.session.set('step', { at: 2 });
  expect(await first.session.get('temp:draft')).toBe('x');
  await save(first);

  const same = open({ agent: 'scopes' }).session;
  expect(Object.fromEntries(await same.entries())).toEqual({
    'app:limit': 5,
    'user:name': 'Alice',
    step: { at: 2 },
  });
  const elsewhere = open({ agent: 'scopes', contextId: 'c2' }).session;
  expect(Object.fromEntries(await elsewhere.entries())).toEqual({
    'app:limit': 5,
    'user:name': 'Alice',
  });
  const stranger = open({ agent: 'scopes', caller: { tenant: '', subject: 'bob' } }).session;
  expect(Object.fromEntries(await stranger.entries())).toEqual({ 'app:limit': 5 });
  expect(await open({ agent: 'another' }).session.get('app:limit')).toBeUndefined();
});

test('anonymous callers share nothing but the app scope', async () => {
  const caller = { tenant: '', subject: '' };
  const first = open({ caller, contextId: 'a' });
  first.session.set('user:secret', 1);
  await save(first);
  expect(await open({ caller, contextId: 'a' }).session.get('user:secret')).toBe(1);
  expect(await open({ caller, contextId: 'b' }).session.get('user:secret')).toBeUndefined();
});

test('a deleted key is gone, at once and for good', async () => {
  const first = open({ contextId: 'del' });
  first.session.set('a', 1);
  await save(first);
  const second = open({ contextId: 'del' });
  second.session.delete('a');
  expect(await second.session.get('a')).toBeUndefined();
  expect((await second.session.entries()).has('a')).toBe(false);
  await save(second);
  expect(await open({ contextId: 'del' }).session.get('a')).toBeUndefined();
});

test('keys like __proto__ are keys like any other', async () => {
  const first = open({ contextId: 'proto' });
  first.session.set('__proto__', { polluted: true });
  await save(first);
  expect(await open({ contextId: 'proto' }).session.get('__proto__')).toEqual({ polluted: true });
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});

test('what is too large or too many is refused with the limit', () => {
  const { session } = open({ contextId: 'bounds' });
  expect(() => session.set('', 1)).toThrow(/1 to 256 characters/);
  expect(() => session.set('a', 'x'.repeat(300_000))).toThrow(/at most 262144/);
  for (let index = 0; index < 1_000; index += 1) session.set(`k${index}`, index);
  expect(() => session.set('one more', 1)).toThrow(/1000 state keys/);
  session.set('k1', 'again');
});

test('a journal outlives its process and vanishes with the end of the turn', async () => {
  const first = open({ taskId: 'j' });
  expect(await first.journal?.claim('call', { started: true })).toBe(true);
  expect(await first.journal?.claim('call', {})).toBe(false);
  await first.journal?.write('call', { output: 7 });

  const second = open({ taskId: 'j', attempt: 2 });
  expect(await second.journal?.read('call')).toEqual({ output: 7 });
  expect(await second.journal?.claim('call', {})).toBe(false);
  await save(second);

  const third = open({ taskId: 'j', attempt: 3 });
  expect(await third.journal?.read('call')).toBeUndefined();
});

test('of two processes that run the same turn, one gets the claim', async () => {
  const one = open({ taskId: 'race' }).journal;
  const two = open({ taskId: 'race' }).journal;
  const claims = await Promise.all([one?.claim('call', 1), two?.claim('call', 2)]);
  expect(claims.toSorted()).toEqual([false, true]);
  const winner = claims[0] === true ? 1 : 2;
  expect(await one?.read('call')).toBe(winner);
  expect(await two?.read('call')).toBe(winner);
});

test('a journal reads back more notes than one page, and long keys', async () => {
  const first = open({ taskId: 'many' });
  for (let index = 0; index < 450; index += 1) await first.journal?.write(`n${index}`, index);
  await first.journal?.write('x'.repeat(5_000), 'long');
  const second = open({ taskId: 'many', attempt: 2 });
  expect(await second.journal?.read('n449')).toBe(449);
  expect(await second.journal?.read('x'.repeat(5_000))).toBe('long');
});

test('a turn that never runs again has no journal', () => {
  expect(open({ isRepeatable: false })).not.toHaveProperty('journal');
});
