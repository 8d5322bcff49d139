import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import {
  agent,
  type Agent,
  completed,
  inputRequired,
  type PeerResult,
  sequential,
  textOf,
  working,
} from '../../src/agents/index.ts';
import { busLink, hostOnBus, openBus } from '../../src/bus/index.ts';
import { joinPeers, openPeers, withPeers } from '../../src/peers/index.ts';
import { openMemory } from '../../src/store/index.ts';

const caller = { tenant: '', subject: 'user', method: 'local' };
const session = { id: 'chat', caller };

/** Hosts agents on one bus, each with its own store and peers, and a caller. */
async function fleet(...agents: readonly Agent[]) {
  const bus = await openBus({ type: 'memory' });
  onTestFinished(() => bus[Symbol.asyncDispose]());
  const wellKnown = agents.map(({ name }) => ({ name }));
  for (const each of agents) {
    const store = openMemory();
    const others = wellKnown.filter(({ name }) => name !== each.name);
    const network = await openPeers({
      name: each.name,
      store,
      links: [busLink({ bus })],
      wellKnown: others,
    });
    const host = await hostOnBus(withPeers(each, network), { bus, store });
    await network.start();
    onTestFinished(async () => {
      await host.close();
      await network.close();
    });
  }
  const me = await joinPeers({
    name: 'me',
    store: openMemory(),
    links: [busLink({ bus })],
    wellKnown,
  });
  onTestFinished(() => me.close());
  return me;
}

function textIn(result: PeerResult): string {
  if (result.state === 'completed') return `completed: ${result.text}`;
  return `${result.state}: ${'reason' in result ? result.reason : result.question}`;
}

test('the types refuse an answer that is read before its state is checked', () => {
  const unchecked = (result: PeerResult): unknown[] => [
    // @ts-expect-error Only a completed call has a text.
    result.text,
    // @ts-expect-error Only a completed call has data.
    result.data,
    // @ts-expect-error Only a call that asks has a question.
    result.question,
    // @ts-expect-error Only a failed call has a reason.
    result.reason,
    // @ts-expect-error A completed call ends nothing.
    result.end,
  ];
  const checked = (result: PeerResult): string => {
    switch (result.state) {
      case 'completed':
        return result.text;
      case 'input-required':
      case 'auth-required':
        return result.question;
      default:
        return result.reason;
    }
  };
  const result: PeerResult = {
    state: 'completed',
    agent: 'bob',
    text: 'done',
    data: [{ records: 3 }],
    keys: {},
  };
  expect(checked(result)).toBe('done');
  const absent = undefined;
  expect(unchecked(result)).toEqual(['done', [{ records: 3 }], absent, absent, absent]);
});

/** Asks for a year, then tells what it found. */
function archive(asked: string[] = []): Agent {
  return agent({ name: 'archive' }, async (turn) => {
    asked.push(textOf(turn.message));
    if (!turn.isContinuation) return inputRequired('Which year?');
    return completed(`3 records of ${textOf(turn.message)}`);
  });
}

test('a question of a peer passes to the caller, and the answer back to the peer', async () => {
  const asked: string[] = [];
  const reporter = agent({ name: 'reporter' }, async (turn) => {
    const topic = textOf(turn.message);
    const found = await turn.peers.call({ agent: 'archive', message: topic });
    if (found.state !== 'completed') return found.end;
    return `Report on ${topic}: ${found.text}`;
  });
  const me = await fleet(archive(asked), reporter);
  const first = await me.call({ agent: 'reporter', message: 'bees' }, session);
  expect(textIn(first)).toBe('input-required: Which year?');
  if (first.state !== 'input-required') throw new Error('no question');
  const last = await first.answer('1901');
  expect(textIn(last)).toBe('completed: Report on bees: 3 records of 1901');
  expect(asked).toEqual(['bees', '1901']);
});

test('calls that had ended before a question are not made again', async () => {
  const counted: string[] = [];
  const counter = agent({ name: 'counter' }, async (turn) => {
    counted.push(textOf(turn.message));
    return completed(`${counted.length}`);
  });
  const desk = agent({ name: 'desk' }, async function* ({ peers, message }) {
    const number = await peers.call({ agent: 'counter', message: 'next' });
    if (number.state !== 'completed') return yield number.end;
    const found = await peers.call({ agent: 'archive', message: textOf(message) });
    if (found.state !== 'completed') return yield found.end;
    yield completed(`${number.text}: ${found.text}`);
  });
  const me = await fleet(counter, archive(), desk);
  const first = await me.call({ agent: 'desk', message: 'bees' }, session);
  if (first.state !== 'input-required') throw new Error('no question');
  expect(textIn(await first.answer('1901'))).toBe('completed: 1: 3 records of 1901');
  expect(counted).toEqual(['next']);
});

test('an agent with a question of its own keeps it apart from those of its peers', async () => {
  const desk = agent({ name: 'desk' }, async (turn) => {
    if (!turn.isContinuation) return inputRequired('On what?');
    const topic = textOf(turn.message);
    const found = await turn.peers.call({ agent: 'archive', message: topic });
    return found.state === 'completed' ? `${topic}: ${found.text}` : found.end;
  });
  const me = await fleet(archive(), desk);
  const first = await me.call({ agent: 'desk', message: 'a report' }, session);
  if (first.state !== 'input-required') throw new Error('no question');
  const second = await first.answer('bees');
  expect(textIn(second)).toBe('input-required: Which year?');
  if (second.state !== 'input-required') throw new Error('no question');
  expect(textIn(await second.answer('1901'))).toBe('completed: bees: 3 records of 1901');
});

test('parallel calls are asked and answered in the order of the calls', async () => {
  const twin = agent({ name: 'twin' }, async (turn) =>
    turn.isContinuation
      ? completed(`twin ${textOf(turn.message)}`)
      : inputRequired('And the twin?'),
  );
  const desk = agent({ name: 'desk' }, async ({ peers }) => {
    const [one, two] = await Promise.all([
      peers.call({ agent: 'archive', message: 'x' }),
      peers.call({ agent: 'twin', message: 'x' }),
    ]);
    if (one.state !== 'completed') return one.end;
    return two.state === 'completed' ? `${one.text}, ${two.text}` : two.end;
  });
  const me = await fleet(archive(), twin, desk);
  const first = await me.call({ agent: 'desk', message: 'go' }, session);
  expect(textIn(first)).toBe('input-required: Which year?');
  if (first.state !== 'input-required') throw new Error('no question');
  const second = await first.answer('1901');
  expect(textIn(second)).toBe('input-required: And the twin?');
  if (second.state !== 'input-required') throw new Error('no question');
  expect(textIn(await second.answer('Ann'))).toBe('completed: 3 records of 1901, twin Ann');
});

test('a step of a workflow has its own calls', async () => {
  const finder = agent({ name: 'finder' }, async (turn) => {
    const found = await turn.peers.call({ agent: 'archive', message: textOf(turn.message) });
    return found.state === 'completed' ? completed(found.text) : found.end;
  });
  const writer = agent({ name: 'writer' }, async (turn) => `Written: ${textOf(turn.message)}`);
  const desk = sequential({ name: 'desk', steps: [finder, writer] });
  const me = await fleet(archive(), desk);
  const first = await me.call({ agent: 'desk', message: 'bees' }, session);
  if (first.state !== 'input-required') throw new Error(textIn(first));
  expect(textIn(await first.answer('1901'))).toContain('Written: 3 records of 1901');
});

test('progress of a peer is progress of the turn, once and in order; the answer is not progress', async () => {
  const slow = agent({ name: 'slow' }, async function* () {
    yield working('one');
    yield working('two');
    yield completed('the answer');
  });
  const desk = agent({ name: 'desk' }, async ({ peers }) => {
    const found = await peers.call({ agent: 'slow', message: 'x' });
    return found.state === 'completed' ? completed(found.text) : found.end;
  });
  const me = await fleet(slow, desk);
  const progress: string[] = [];
  const onProgress = (text: string) => void progress.push(text);
  const done = await me.call({ agent: 'desk', message: 'x' }, session, { onProgress });
  expect(textIn(done)).toBe('completed: the answer');
  expect(progress).toEqual(['one', 'two']);
});

test('after an answer, progress continues and the end of the task is not progress', async () => {
  const slow = agent({ name: 'slow' }, async function* (turn) {
    yield working(turn.isContinuation ? 'two' : 'one');
    yield turn.isContinuation ? completed('the answer') : inputRequired('Go on?');
  });
  const me = await fleet(slow);
  const progress: string[] = [];
  const onProgress = (text: string) => void progress.push(text);
  const asked = await me.call({ agent: 'slow', message: 'x' }, session, { onProgress });
  if (asked.state !== 'input-required') throw new Error(textIn(asked));
  expect(textIn(await asked.answer('yes'))).toBe('completed: the answer');
  expect(progress).toEqual(['one', 'two']);
});

test('an agent with peers records its steps', async () => {
  const desk = agent({ name: 'desk' }, async ({ steps }) => {
    return steps === undefined ? 'not recorded' : 'recorded';
  });
  const me = await fleet(desk);
  const done = await me.call({ agent: 'desk', message: 'x' }, session);
  expect(textIn(done)).toBe('completed: recorded');
});

test('a peer that fails, rejects or takes too long has a state and a reason', async () => {
  const stuck = agent({ name: 'stuck' }, async function* ({ signal }) {
    yield working('on it');
    await once(signal, 'abort');
    wasStopped = true;
  });
  let wasStopped = false;
  const desk = agent({ name: 'desk' }, async ({ peers }) => {
    const late = await peers.call({ agent: 'stuck', message: 'x', timeoutMs: 200 });
    return late.state === 'completed' ? 'done' : late.end;
  });
  const me = await fleet(stuck, desk);
  const done = await me.call({ agent: 'desk', message: 'x' }, session);
  expect(textIn(done)).toContain("failed: Agent 'stuck' did not complete its task: ");
  await expect.poll(() => wasStopped).toBe(true);
});

test('a cancel reaches the peers of the task, at work or asking', async () => {
  let stopped = 0;
  const stuck = agent({ name: 'stuck' }, async function* ({ signal }) {
    yield working('on it');
    await once(signal, 'abort');
    stopped += 1;
  });
  const desk = agent({ name: 'desk' }, async ({ peers }) => {
    const done = await peers.call({ agent: 'stuck', message: 'x' });
    return done.state === 'completed' ? 'done' : done.end;
  });
  const me = await fleet(stuck, desk);
  const leaving = new AbortController();
  const onProgress = () => leaving.abort(new Error('left'));
  const { signal } = leaving;
  const called = me.call({ agent: 'desk', message: 'x' }, session, { signal, onProgress });
  await expect(called).rejects.toThrow('left');
  await expect.poll(() => stopped).toBe(1);
});

test('a process without peers says how to get them', async () => {
  const alone = agent({ name: 'alone' }, async ({ peers }) => {
    try {
      return textIn(await peers.call({ agent: 'bob', message: 'x' }));
    } catch (error) {
      return String(error);
    }
  });
  const bus = await openBus({ type: 'memory' });
  onTestFinished(() => bus[Symbol.asyncDispose]());
  await using _host = await hostOnBus(alone, { bus });
  const me = await joinPeers({
    name: 'me',
    store: openMemory(),
    links: [busLink({ bus })],
    wellKnown: [{ name: 'alone' }],
  });
  onTestFinished(() => me.close());
  const done = await me.call({ agent: 'alone', message: 'x' }, session);
  expect(textIn(done)).toContain('add "peers:" to endpoints.yml');
});
