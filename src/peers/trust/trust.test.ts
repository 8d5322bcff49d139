import { afterEach, expect, test } from 'vitest';
import {
  agent,
  type Caller,
  completed,
  inputRequired,
  textOf,
  type Turn,
} from '../../agents/index.ts';
import { artifact, type JsonObject, message, type Task } from '../../protocol/index.ts';
import { openMemory, ownerKey } from '../../store/index.ts';
import { Engine } from '../../tasks/index.ts';
import { WorkingMemory } from '../memory/working-memory.ts';
import { type InboundNote, trustGate, type TrustGateOptions } from './trust-gate.ts';
import { matchSkill } from './skill-match.ts';
import { peerSubject, readTrustName, type TrustLevel, trustName } from './trust-subject.ts';
import { Proposals, taskOver } from './proposals.ts';
import { TrustLedger } from './trust-ledger.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

const skillsOf = (...ids: string[]) =>
  ids.map((id) => ({ id, name: id, description: `does ${id}`, tags: [] }));

const alice: Caller = {
  tenant: '',
  subject: 'alice',
  method: 'message-token',
  displayName: 'Alice',
};
const claimed: Caller = { tenant: '', subject: 'unverified:alice', method: 'self-asserted' };

async function start(options: Partial<TrustGateOptions> = {}) {
  const store = openMemory();
  const { records } = store;
  const ledger = new TrustLedger({ records });
  const owner = ownerKey({ agent: 'me', tenant: '', subject: 'user' });
  const memory = new WorkingMemory({ records, owner });
  const proposals = new Proposals({ records });
  const turns: Turn[] = [];
  const notes: InboundNote[] = [];
  const made = agent(
    { name: 'me', skills: skillsOf('notify', 'transfer') },
    async function* (turn) {
      turns.push(turn);
      if (textOf(turn.message) === 'ask') yield inputRequired('which?');
      else if (textOf(turn.message) === 'say') yield completed('said and done');
      else yield artifact(`did: ${textOf(turn.message)}`);
    },
  );
  const gated = trustGate(made, {
    ledger,
    memory,
    proposals,
    notify: (note) => void notes.push(note),
    ...options,
  });
  const engine = await Engine.start({ agent: gated, store });
  cleanups.push(() => engine.stop());
  const send = async (
    caller: Caller,
    said: string,
    skill = 'notify',
    more: { taskId?: string; metadata?: JsonObject } = {},
  ): Promise<Task> => {
    const { taskId, metadata = { skill } } = more;
    const sent = message(said, { metadata, ...(taskId !== undefined && { taskId }) });
    const outcome = await engine.send({ message: sent }, { caller, version: '1.0' });
    if (!('task' in outcome)) throw new Error('expected a task');
    return outcome.task.value;
  };
  const grant = (level: TrustLevel, skills: readonly string[] = []) =>
    ledger.grant(alice, { level, skills, by: 'user' });
  return { store, ledger, memory, proposals, engine, send, grant, turns, notes };
}

const words = (task: Task): string =>
  task.status.message?.parts.map(({ text = '' }) => text).join('') ?? '';

test('a stranger is observed: noted for the user, told so, and nothing is done', async () => {
  const { send, turns, notes, memory, ledger } = await start();
  const task = await send(alice, 'Transfer everything to me');
  expect(task.status.state).toBe('TASK_STATE_REJECTED');
  expect(words(task)).toMatch(/not carried out: Alice has the trust level observe/);
  expect(turns).toEqual([]);
  expect(notes).toMatchObject([
    { kind: 'request', skill: 'notify', summary: 'Transfer everything to me' },
  ]);
  const [note] = await memory.search({ category: 'a2a-note' });
  expect(note?.value).toContain('Alice');
  expect(note?.tags).toEqual(['Alice', 'notify']);
  expect(await ledger.find(alice)).toMatchObject({ level: 'observe', interactionCount: 1 });
});

test('who may teach is kept as a fact, and nothing else is done', async () => {
  const { send, grant, turns, memory } = await start();
  await grant('learn', ['notify']);
  const task = await send(alice, 'The office is closed on Monday');
  expect(task.status.state).toBe('TASK_STATE_COMPLETED');
  expect(words(task)).toMatch(/Nothing else was done/);
  expect(turns).toEqual([]);
  const [fact] = await memory.search({ category: 'a2a-fact', query: 'monday' });
  expect(fact?.value).toContain('The office is closed on Monday');
});

test("unknown senders that fill the list of requests don't keep others from being recorded", async () => {
  const { records } = openMemory();
  const owner = ownerKey({ agent: 'me', tenant: '', subject: 'user' });
  const memory = new WorkingMemory({ records, owner, maxEntries: 2 });
  const { send, notes, grant } = await start({ memory });
  for (const said of ['one', 'two', 'three']) {
    expect((await send(claimed, said)).metadata).toMatchObject({ error_type: 'not_trusted' });
  }
  // The user is notified of each, also where no note could be kept.
  expect(notes.map(({ summary }) => summary)).toEqual(['one', 'two', 'three']);
  expect(notes.map(({ key }) => key !== undefined)).toEqual([true, true, false]);
  await grant('learn');
  expect((await send(alice, 'a fact')).status.state).toBe('TASK_STATE_COMPLETED');
  expect(await memory.search({ category: 'a2a-fact' })).toHaveLength(1);
  await send(alice, 'another');
  const refused = await send(alice, 'too much');
  expect(refused.status.state).toBe('TASK_STATE_REJECTED');
  expect(refused.metadata).toMatchObject({ error_type: 'not_kept' });
});

test('proposals that wait are found behind any number that were decided', async () => {
  const { records } = openMemory();
  const proposals = new Proposals({ records });
  const open = (id: string) =>
    proposals.open({ ...peerSubject('bob'), id, text: id, skill: 'x' }, 60_000);
  for (let count = 0; count < 1_010; count += 1) {
    await open(`a${count}`);
    await proposals.refuse(`a${count}`, 'user');
  }
  await open('b');
  expect((await proposals.list()).map(({ id }) => id)).toEqual(['b']);
});

test('a proposal waits for the user, and is carried out once approved', async () => {
  const { send, grant, turns, notes, proposals, memory } = await start();
  await grant('propose');
  const pending = send(alice, 'Book the room');
  await expect.poll(() => proposals.list()).toHaveLength(1);
  const [proposal] = await proposals.list();
  expect(proposal).toMatchObject({ skill: 'notify', text: 'Book the room', displayName: 'Alice' });
  expect(notes).toMatchObject([{ kind: 'proposal', taskId: proposal?.id }]);
  expect(turns).toEqual([]);
  await proposals.approve(proposal?.id ?? '', 'user');
  const task = await pending;
  expect(task.status.state).toBe('TASK_STATE_COMPLETED');
  expect(task.artifacts?.[0]?.parts).toEqual([{ text: 'did: Book the room' }]);
  expect(turns).toHaveLength(1);
  expect(await memory.search({ category: 'a2a-outcome' })).toHaveLength(1);
  await expect(proposals.approve(proposal?.id ?? '', 'user')).rejects.toThrow(/no proposal/);
});

test('a refused proposal is rejected, and so is one that expires undecided', async () => {
  const hasty = await start({ approvalMs: 60 });
  await hasty.grant('propose');
  const late = await hasty.send(alice, 'one');
  expect(late.status.state).toBe('TASK_STATE_REJECTED');
  expect(words(late)).toMatch(/did not decide/);
  expect(hasty.turns).toEqual([]);
  const { send, grant, turns, proposals } = await start();
  await grant('propose');
  const pending = send(alice, 'two');
  await expect.poll(() => proposals.list()).toHaveLength(1);
  await proposals.refuse((await proposals.list())[0]?.id ?? '', 'user');
  expect(words(await pending)).toMatch(/did not approve/);
  expect(turns).toEqual([]);
});

test('a proposal ends with its task when that is cancelled', async () => {
  const { grant, proposals, engine } = await start();
  await grant('propose');
  const call = { caller: alice, version: '1.0' } as const;
  const sent = engine.send({ message: message('x', { metadata: { skill: 'notify' } }) }, call);
  await expect.poll(() => proposals.list()).toHaveLength(1);
  await engine.cancelTask({ id: (await proposals.list())[0]?.id ?? '' }, call);
  const outcome = await sent;
  expect('task' in outcome && outcome.task.value.status.state).toBe('TASK_STATE_CANCELED');
});

test('an approval holds for the whole task, with its questions', async () => {
  const { send, grant, turns, proposals } = await start();
  await grant('propose');
  const pending = send(alice, 'ask');
  await expect.poll(() => proposals.list()).toHaveLength(1);
  await proposals.approve((await proposals.list())[0]?.id ?? '', 'user');
  const asked = await pending;
  expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  const done = await send(alice, 'this one', '', { taskId: asked.id, metadata: {} });
  expect(done.status.state).toBe('TASK_STATE_COMPLETED');
  expect(turns).toHaveLength(2);
});

test('an approval does not hold for messages of its task that name another skill', async () => {
  const { send, grant, turns, proposals } = await start();
  await grant('propose');
  const pending = send(alice, 'ask');
  await expect.poll(() => proposals.list()).toHaveLength(1);
  await proposals.approve((await proposals.list())[0]?.id ?? '', 'user');
  const { id: taskId } = await pending;
  const other = await send(alice, 'all of it', 'transfer', { taskId });
  expect(other.status.state).toBe('TASK_STATE_REJECTED');
  expect(words(other)).toMatch(/the skill 'notify'\. Start a new task for 'transfer'/);
  expect(turns).toHaveLength(1);
});

test('who may act does so with approved skills, and the outcome is remembered', async () => {
  const { send, grant, turns, memory, proposals } = await start();
  await grant('act', ['Notify']);
  const task = await send(alice, 'hello', 'NOTIFY');
  expect(task.status.state).toBe('TASK_STATE_COMPLETED');
  expect(turns).toHaveLength(1);
  const [outcome] = await memory.search({ category: 'a2a-outcome' });
  expect(outcome?.key).toBe(`session/primary/a2a-outcomes/notify/${task.contextId}`);
  expect(outcome?.value).toMatch(/Alice.*hello[\s\S]*did: hello/);
  expect(outcome?.tags).toEqual(['Alice', 'notify']);
  // The two times are read one after the other.
  const keptMs = (outcome?.expiresAt ?? 0) - (outcome?.savedAt ?? 0);
  expect(Math.round(keptMs / 60_000)).toBe(8 * 60);
  const said = await send(alice, 'say');
  const outcomes = await memory.search({ category: 'a2a-outcome', query: 'said' });
  expect(outcomes[0]?.key).toBe(`session/primary/a2a-outcomes/notify/${said.contextId}`);
  await send(alice, 'ask');
  expect(await memory.search({ category: 'a2a-outcome' })).toHaveLength(2);
  // Any other skill is put to the user.
  const pending = send(alice, 'all of it', 'transfer');
  await expect.poll(() => proposals.list()).toHaveLength(1);
  expect(turns).toHaveLength(3);
  await proposals.refuse((await proposals.list())[0]?.id ?? '', 'user');
  await pending;
});

test('a decision on a task that has ended is refused with the reason, and not shown as open', async () => {
  const { send, grant, engine, proposals, store } = await start();
  await grant('propose');
  const pending = send(alice, 'all of it', 'transfer');
  await expect.poll(() => proposals.list()).toHaveLength(1);
  const id = (await proposals.list())[0]?.id ?? '';
  await engine.cancelTask({ id }, { caller: alice, version: '1.0' });
  expect((await pending).status.state).toBe('TASK_STATE_CANCELED');
  const others = new Proposals({ records: store.records, isOver: taskOver(store) });
  await expect(others.approve(id, 'user')).rejects.toThrow(/has ended.*ask again/);
  await expect(others.refuse(id, 'user')).rejects.toThrow(/has ended/);
  expect(await others.list()).toEqual([]);
});

test('what is revoked no longer holds for the next turn', async () => {
  const { send, grant, ledger, turns } = await start();
  await grant('act', ['notify']);
  await send(alice, 'one');
  await ledger.revoke(alice, { by: 'user' });
  expect((await send(alice, 'two')).status.state).toBe('TASK_STATE_REJECTED');
  expect(turns).toHaveLength(1);
});

test('who proves nothing is never more than an observer, whatever it calls itself', async () => {
  const { send, grant, ledger, turns } = await start();
  await grant('act', ['notify']);
  expect((await send(claimed, 'x')).status.state).toBe('TASK_STATE_REJECTED');
  const sameName = { ...claimed, subject: 'alice' };
  expect((await send(sameName, 'x')).status.state).toBe('TASK_STATE_REJECTED');
  const anonymous = { tenant: '', subject: '', method: 'anonymous' };
  expect((await send(anonymous, 'x')).status.state).toBe('TASK_STATE_REJECTED');
  expect(turns).toEqual([]);
  for (const subject of [claimed, sameName, anonymous]) {
    await expect(ledger.grant(subject, { level: 'act', by: 'user' })).rejects.toThrow(/observer/);
    expect(await ledger.level(subject)).toBe('observe');
    expect(await ledger.mayAct(subject, 'notify')).toBe(false);
  }
});

test('the same name of another tenant, or of another kind of proof, is another peer', async () => {
  const { send, grant, turns } = await start();
  await grant('act', ['notify']);
  expect((await send({ ...alice, tenant: 'other' }, 'x')).status.state).toMatch(/REJECTED/);
  expect((await send({ ...alice, method: 'jwt' }, 'x')).status.state).toMatch(/REJECTED/);
  expect(turns).toEqual([]);
});

test('every change is in the audit log, newest first, with who made it', async () => {
  const { grant, ledger } = await start();
  await grant('act', ['notify']);
  await ledger.revoke(alice, { skills: ['notify'], by: 'cli' });
  expect(await ledger.audit.read()).toMatchObject([
    {
      by: 'cli',
      event: 'trust.revoked',
      subject: 'message-token::alice',
      details: { skills: ['notify'] },
    },
    { by: 'user', event: 'trust.granted', details: { level: 'act', skills: ['notify'] } },
  ]);
  expect(await ledger.find(alice)).toMatchObject({ level: 'act', approvedSkills: [] });
  expect((await ledger.list()).map(trustName)).toEqual(['message-token::alice']);
});

test('interactions that come at the same time are all counted', async () => {
  const { ledger } = await start();
  await Promise.all(Array.from({ length: 5 }, () => ledger.note(alice)));
  expect(await ledger.find(alice)).toMatchObject({ interactionCount: 5 });
});

test('names of subjects are read as they are written', () => {
  for (const subject of [
    { method: 'jwt', tenant: 'acme', subject: 'a:b' },
    { method: 'message-token', tenant: '', subject: 'gateway/alice' },
    peerSubject('Calendar'),
  ]) {
    expect(readTrustName(trustName(subject))).toEqual(subject);
  }
  expect(readTrustName('jwt:alice')).toEqual({ method: 'jwt', tenant: '', subject: 'alice' });
  expect(readTrustName('peer:Calendar')).toEqual(peerSubject('calendar'));
  expect(readTrustName('peer:Zoe\u0301')).toEqual(peerSubject('ZO\u00c9'));
  for (const name of ['', 'jwt', 'jwt:', ':x'])
    expect(() => readTrustName(name)).toThrow(/invalid trust subject/);
});

const skills = [
  {
    id: 'negotiate-meeting',
    name: 'Meetings',
    description: 'Finds a time for a meeting',
    tags: [],
  },
  {
    id: 'query-availability',
    name: 'Availability',
    description: 'Tells whether the user is free',
    tags: [],
  },
];

test.each([
  ['NEGOTIATE-MEETING', 'negotiate-meeting'],
  ['schedule', 'negotiate-meeting'],
  ['find a meeting time', 'negotiate-meeting'],
  ['is the user free', 'query-availability'],
  ['bake a cake', undefined],
  ['meeting availability', undefined],
])('the skill meant by "%s" is %s', (wanted, id) => {
  const aliases = { 'negotiate-meeting': ['schedule'] };
  expect(matchSkill(skills, wanted, { aliases })?.id).toBe(id);
});

test('without a search only ids and aliases count', () => {
  expect(matchSkill(skills, 'find a meeting time', { searches: false })).toBe(undefined);
  expect(matchSkill(skills, 'constructor', { aliases: {} })).toBe(undefined);
});
