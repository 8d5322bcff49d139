import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  agent,
  type Agent,
  chunk,
  completed,
  inputRequired,
  reply,
  textOf,
  type Turn,
  working,
} from '../agents/index.ts';
import {
  artifact,
  data,
  Json,
  LegateError,
  type Message,
  message,
  type Task,
  text,
} from '../protocol/index.ts';
import { ownerKey, type Store } from '../store/index.ts';
import { describeStores, type StorePlace } from '../../test/support/stores.ts';
import {
  anonymous,
  type Call,
  Engine,
  type EngineOptions,
  type Scheduler,
  type SendOutcome,
  systemScheduler,
} from './index.ts';

const call: Call = { caller: anonymous, version: '1.0' };
const alice: Call = { caller: { tenant: '', subject: 'alice', method: 'test' }, version: '1.0' };
const bob: Call = { caller: { tenant: '', subject: 'bob', method: 'test' }, version: '1.0' };

function taskOf(outcome: SendOutcome): Task {
  if (!('task' in outcome)) throw new Error('expected a task');
  return outcome.task.value;
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (error instanceof LegateError) return error.code;
    throw error;
  }
  return 'no error';
}

/** A promise with its handles. */
function gate(): { open: () => void; opened: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { open: resolve, opened: promise };
}

const echo = agent({ name: 'echo' }, async function* (turn) {
  yield working();
  yield artifact(textOf(turn.message), { artifactId: 'a' });
});

const hour = 60 * 60 * 1000;

describeStores('task engine', (openPlace) => {
  const cleanups: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  });

  async function start(
    agent: Agent,
    options: Partial<EngineOptions> = {},
    place?: StorePlace,
  ): Promise<{ engine: Engine; place: StorePlace; store: Store }> {
    const here = place ?? (await openPlace());
    const store = await here.open();
    const engine = await Engine.start({ agent, store, cancelGraceMs: 50, ...options });
    cleanups.push(async () => {
      await engine.stop();
      if (place === undefined) await here.remove();
    });
    return { engine, place: here, store };
  }

  test('a blocking send answers with the ended task, its artifacts and its history', async () => {
    const { engine } = await start(echo);
    const task = taskOf(await engine.send({ message: message('hi', { messageId: 'm' }) }, call));
    expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(task.artifacts).toEqual([{ artifactId: 'a', parts: [{ text: 'hi' }] }]);
    expect(task.history).toEqual([
      {
        messageId: 'm',
        role: 'ROLE_USER',
        parts: [{ text: 'hi' }],
        contextId: task.contextId,
        taskId: task.id,
      },
    ]);
    expect((await engine.getTask({ id: task.id }, call)).value).toEqual(task);
  });

  test('§3.2.2 returnImmediately answers before the agent has ended', async () => {
    const { open, opened } = gate();
    const slow = agent({ name: 'slow' }, async function* () {
      await opened;
      yield artifact('done');
    });
    const { engine } = await start(slow);
    const task = taskOf(
      await engine.send(
        { message: message('hi'), configuration: { returnImmediately: true } },
        call,
      ),
    );
    expect(task.status.state).toBe('TASK_STATE_SUBMITTED');
    open();
    await expect
      .poll(async () => (await engine.getTask({ id: task.id }, call)).value.status.state)
      .toBe('TASK_STATE_COMPLETED');
  });

  test('§3.1.2 a stream gives the task, then its numbered events, and closes at the end', async () => {
    const { engine } = await start(echo);
    const stream = await engine.stream({ message: message('hi') }, call);
    const seen: [number, string, boolean][] = [];
    for await (const { sequence, body, isLast } of stream) {
      seen.push([sequence, Object.keys(body.value)[0] ?? '', isLast]);
    }
    expect(seen).toEqual([
      [1, 'task', false],
      [2, 'statusUpdate', false],
      [3, 'artifactUpdate', false],
      [4, 'statusUpdate', true],
    ]);
  });

  test('an input-required task is continued by its id, with the question in its history', async () => {
    const asking = agent({ name: 'asking' }, async function* (turn) {
      if (!turn.isContinuation) yield inputRequired('Which one?');
      else {
        const before = (await turn.history()).map(textOf).join('|');
        yield artifact(`${before}>${textOf(turn.message)}`, { artifactId: 'a' });
      }
    });
    const { engine } = await start(asking);
    const first = taskOf(await engine.send({ message: message('buy') }, call));
    expect(first.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    expect(first.history).toHaveLength(1);
    const second = taskOf(
      await engine.send({ message: message('the red one', { taskId: first.id }) }, call),
    );
    expect(second.id).toBe(first.id);
    expect(second.artifacts?.[0]?.parts).toEqual([{ text: 'buy|Which one?>the red one' }]);
    expect(second.history?.map(textOf)).toEqual(['buy', 'Which one?', 'the red one']);
  });

  test('CORE-HIST-005 follow-ups that share a message id all stand in the history', async () => {
    const { engine } = await start(
      agent({ name: 'a' }, async function* () {
        yield inputRequired('?');
      }),
      { messageCacheTtlMs: 0 },
    );
    const { id } = taskOf(await engine.send({ message: message('1', { messageId: 'm' }) }, call));
    for (const text of ['2', '3']) {
      await engine.send({ message: message(text, { messageId: 'm', taskId: id }) }, call);
    }
    const { history } = (await engine.getTask({ id }, call)).value;
    expect(history?.map(textOf)).toEqual(['1', '?', '2', '?', '3']);
  });

  test('§3.4.3 taskId and contextId that do not belong together are refused', async () => {
    const { engine } = await start(
      agent({ name: 'a' }, async function* () {
        yield inputRequired('?');
      }),
    );
    const task = taskOf(await engine.send({ message: message('x') }, call));
    const mismatched = message('y', { taskId: task.id, contextId: 'another' });
    expect(await codeOf(engine.send({ message: mismatched }, call))).toBe('INVALID_PARAMS');
  });

  test('§3.1.1 a terminal task takes no more messages, and an unknown one is not found', async () => {
    const { engine } = await start(echo);
    const task = taskOf(await engine.send({ message: message('x') }, call));
    expect(await codeOf(engine.send({ message: message('y', { taskId: task.id }) }, call))).toBe(
      'UNSUPPORTED_OPERATION',
    );
    expect(await codeOf(engine.send({ message: message('y', { taskId: 'nope' }) }, call))).toBe(
      'TASK_NOT_FOUND',
    );
  });

  test('a foreign task is not found by any operation', async () => {
    const { engine } = await start(
      agent({ name: 'a' }, async function* () {
        yield inputRequired('?');
      }),
    );
    const { id } = taskOf(await engine.send({ message: message('x') }, alice));
    expect(await codeOf(engine.getTask({ id }, bob))).toBe('TASK_NOT_FOUND');
    expect(await codeOf(engine.cancelTask({ id }, bob))).toBe('TASK_NOT_FOUND');
    expect(await codeOf(engine.subscribe({ id }, bob))).toBe('TASK_NOT_FOUND');
    expect(await codeOf(engine.send({ message: message('y', { taskId: id }) }, bob))).toBe(
      'TASK_NOT_FOUND',
    );
    expect((await engine.listTasks({}, bob)).tasks).toEqual([]);
    expect((await engine.listTasks({}, alice)).totalSize).toBe(1);
  });

  test('a repeated message finds its task again and does not run twice', async () => {
    let runs = 0;
    const counting = agent({ name: 'counting' }, async function* () {
      runs += 1;
      yield artifact(String(runs));
    });
    const { engine } = await start(counting);
    const said = message('x', { contextId: 'c' });
    const first = taskOf(await engine.send({ message: said }, call));
    const again = taskOf(await engine.send({ message: said }, call));
    expect(again).toEqual(first);
    expect(runs).toBe(1);
    const other = { ...said, parts: [{ text: 'y' }] };
    expect(await codeOf(engine.send({ message: other }, call))).toBe('MESSAGE_ID_REUSED');
  });

  test('a message that is being worked on is refused as in flight', async () => {
    const { open, opened } = gate();
    const slow = agent({ name: 'slow' }, async function* () {
      await opened;
      yield artifact('x');
    });
    const { engine } = await start(slow);
    const said = message('x', { contextId: 'c' });
    const first = engine.send({ message: said }, call);
    await expect.poll(() => engine.runningTurns).toBe(1);
    expect(await codeOf(engine.send({ message: said }, call))).toBe('MESSAGE_IN_FLIGHT');
    open();
    await first;
  });

  test('first messages without a context are told apart for strangers, not for known callers', async () => {
    const { engine } = await start(echo);
    const said = message('x');
    const stranger = taskOf(await engine.send({ message: said }, call));
    expect(taskOf(await engine.send({ message: said }, call)).id).not.toBe(stranger.id);
    const known = taskOf(await engine.send({ message: said }, alice));
    expect(taskOf(await engine.send({ message: said }, alice)).id).toBe(known.id);
    expect(taskOf(await engine.send({ message: said }, bob)).id).not.toBe(known.id);
    const keyed: Call = { ...call, idempotencyKey: 'k' };
    const first = taskOf(await engine.send({ message: said }, keyed));
    expect(taskOf(await engine.send({ message: said }, keyed)).id).toBe(first.id);
  });

  test('turns of one context run one at a time, in order; other contexts do not wait', async () => {
    const log: string[] = [];
    const gates = new Map([
      ['1', gate()],
      ['2', gate()],
    ]);
    const slow = agent({ name: 'slow' }, async function* (turn) {
      const name = textOf(turn.message);
      log.push(`start ${name}`);
      await gates.get(name)?.opened;
      log.push(`end ${name}`);
      yield artifact(name);
    });
    const { engine } = await start(slow);
    const first = engine.send({ message: message('1', { contextId: 'c' }) }, call);
    const second = engine.send({ message: message('2', { contextId: 'c' }) }, call);
    const third = engine.send({ message: message('3', { contextId: 'c' }) }, call);
    await engine.send({ message: message('other', { contextId: 'd' }) }, call);
    gates.get('2')?.open();
    gates.get('1')?.open();
    const tasks = await Promise.all([first, second, third]);
    expect(tasks.map((task) => taskOf(task).status.state)).toEqual(
      Array.from({ length: 3 }, () => 'TASK_STATE_COMPLETED'),
    );
    expect(log.filter((line) => !line.includes('other'))).toEqual([
      'start 1',
      'end 1',
      'start 2',
      'end 2',
      'start 3',
      'end 3',
    ]);
  });

  test('an agent with independent turns is not held up by its context', async () => {
    const { open, opened } = gate();
    const independent = agent({ name: 'i', serialise: 'task' }, async function* (turn) {
      if (textOf(turn.message) === 'slow') await opened;
      yield artifact('x');
    });
    const { engine } = await start(independent);
    const slow = engine.send({ message: message('slow', { contextId: 'c' }) }, call);
    const fast = taskOf(await engine.send({ message: message('fast', { contextId: 'c' }) }, call));
    expect(fast.status.state).toBe('TASK_STATE_COMPLETED');
    open();
    await slow;
  });

  test('several follow-ups to one task of such an agent run one at a time, in order', async () => {
    const patient = { timeout: 20_000 };
    const follows = ['1', '2', '3', '4'];
    const gates = new Map(follows.map((name) => [name, gate()]));
    const began: string[] = [];
    let live = 0;
    let most = 0;
    const independent = agent({ name: 'i', serialise: 'task' }, async function* (turn) {
      const name = textOf(turn.message);
      const held = gates.get(name);
      if (held !== undefined) {
        live += 1;
        most = Math.max(most, live);
        began.push(name);
        await held.opened;
        live -= 1;
      }
      if (name !== '4') yield inputRequired('and?');
    });
    const { engine } = await start(independent);
    const { id: taskId, contextId } = taskOf(await engine.send({ message: message('ask') }, call));
    for (const name of follows) {
      const follow = { message: message(name, { taskId }) };
      await engine.send({ ...follow, configuration: { returnImmediately: true } }, call);
    }
    await expect.poll(() => began, patient).toEqual(['1']);
    // Another task of the context goes all its way, and the followers still wait.
    await engine.send({ message: message('other', { contextId }) }, call);
    expect([began, live]).toEqual([['1'], 1]);
    for (const [index, name] of follows.entries()) {
      gates.get(name)?.open();
      await expect.poll(() => began, patient).toEqual(follows.slice(0, index + 2));
    }
    await expect
      .poll(async () => (await engine.getTask({ id: taskId }, call)).value.status.state, patient)
      .toBe('TASK_STATE_COMPLETED');
    expect([most, live]).toEqual([1, 0]);
  });

  test('§3.1.5 cancel reaches the agent as an abort signal, and is idempotent', async () => {
    let reason: unknown;
    const waiting = agent({ name: 'waiting' }, async function* (turn: Turn) {
      yield working();
      await new Promise((resolve) => turn.signal.addEventListener('abort', resolve));
      reason = turn.signal.reason;
    });
    const { engine } = await start(waiting);
    const sent = engine.send({ message: message('x') }, call);
    await expect
      .poll(async () => (await engine.listTasks({ status: 'TASK_STATE_WORKING' }, call)).totalSize)
      .toBe(1);
    const [running] = (await engine.listTasks({}, call)).tasks;
    const canceled = await engine.cancelTask({ id: running?.id ?? '' }, call);
    expect(canceled.value.status.state).toBe('TASK_STATE_CANCELED');
    expect(reason).toMatchObject({ stopCause: 'cancel' });
    expect(taskOf(await sent).status.state).toBe('TASK_STATE_CANCELED');
    expect((await engine.cancelTask({ id: running?.id ?? '' }, call)).value).toEqual(
      canceled.value,
    );
  });

  test('an agent that ignores its cancellation is stopped by force', async () => {
    const deaf = agent({ name: 'deaf' }, async function* () {
      yield working();
      await new Promise(() => {});
    });
    const { engine } = await start(deaf, { cancelGraceMs: 10 });
    const task = taskOf(
      await engine.send(
        { message: message('x'), configuration: { returnImmediately: true } },
        call,
      ),
    );
    expect((await engine.cancelTask({ id: task.id }, call)).value.status.state).toBe(
      'TASK_STATE_CANCELED',
    );
  });

  test('cancelling a completed task answers TaskNotCancelable, an idle one ends at once', async () => {
    const { engine } = await start(
      agent({ name: 'a' }, async function* (turn) {
        if (textOf(turn.message) === 'ask') yield inputRequired('?');
      }),
    );
    const done = taskOf(await engine.send({ message: message('x') }, call));
    expect(await codeOf(engine.cancelTask({ id: done.id }, call))).toBe('TASK_NOT_CANCELABLE');
    const idle = taskOf(await engine.send({ message: message('ask') }, call));
    expect((await engine.cancelTask({ id: idle.id }, call)).value.status.state).toBe(
      'TASK_STATE_CANCELED',
    );
  });

  test('cancelling a queued task ends it without running it', async () => {
    const { open, opened } = gate();
    const ran: string[] = [];
    const slow = agent({ name: 'slow' }, async function* (turn) {
      ran.push(textOf(turn.message));
      if (textOf(turn.message) === '1') await opened;
      yield artifact('x');
    });
    const { engine } = await start(slow);
    const first = engine.send({ message: message('1', { contextId: 'c' }) }, call);
    const second = taskOf(
      await engine.send(
        { message: message('2', { contextId: 'c' }), configuration: { returnImmediately: true } },
        call,
      ),
    );
    const canceled = await engine.cancelTask({ id: second.id }, call);
    expect(canceled.value.status.state).toBe('TASK_STATE_CANCELED');
    open();
    await first;
    await engine.send({ message: message('3', { contextId: 'c' }) }, call);
    expect(ran).toEqual(['1', '3']);
  });

  test('a task that takes too long is cancelled, a silent one fails', async () => {
    const hanging = agent({ name: 'h' }, async function* () {
      yield working();
      await new Promise(() => {});
    });
    const slow = await start(hanging, { taskTimeoutMs: 20, cancelGraceMs: 1 });
    const timedOut = taskOf(await slow.engine.send({ message: message('x') }, call));
    expect(timedOut.status.state).toBe('TASK_STATE_CANCELED');
    expect(timedOut.metadata).toEqual({ error_type: 'timeout' });
    const silent = await start(hanging, { inactivityTimeoutMs: 20, cancelGraceMs: 1 });
    const failed = taskOf(await silent.engine.send({ message: message('x') }, call));
    expect(failed.status.state).toBe('TASK_STATE_FAILED');
    expect(failed.metadata).toEqual({ error_type: 'inactivity' });
  });

  test('an agent that throws fails its task and does not expose the reason', async () => {
    const broken = agent({ name: 'b' }, async function* () {
      yield working();
      throw new Error('password is hunter2');
    });
    const { engine } = await start(broken);
    const task = taskOf(await engine.send({ message: message('x') }, call));
    expect(task.status.state).toBe('TASK_STATE_FAILED');
    expect(JSON.stringify(task)).not.toContain('hunter2');
    expect(task.metadata).toEqual({ error_type: 'agent_error' });
  });

  test('chunks extend or replace an artifact; appending to none, or any after the last, fails the task', async () => {
    const { engine } = await start(
      agent({ name: 'c' }, async function* (turn) {
        const wish = textOf(turn.message);
        if (wish === 'unknown') yield chunk('a', 'x', { append: true });
        yield chunk('a', 'one ');
        if (wish === 'replaced') yield chunk('a', 'one again, ');
        yield chunk('a', 'two', { append: true, last: true });
        if (wish === 'sealed') yield chunk('a', 'three', { append: true });
        if (wish === 'sealed, replaced') yield chunk('a', 'three');
        if (wish === 'sealed, replaced as a whole') yield artifact('three', { artifactId: 'a' });
      }),
    );
    const good = taskOf(await engine.send({ message: message('good') }, call));
    expect(good.artifacts).toEqual([{ artifactId: 'a', parts: [{ text: 'one two' }] }]);
    const replaced = taskOf(await engine.send({ message: message('replaced') }, call));
    expect(replaced.artifacts).toEqual([{ artifactId: 'a', parts: [{ text: 'one again, two' }] }]);
    for (const wish of ['sealed', 'sealed, replaced', 'sealed, replaced as a whole']) {
      const task = taskOf(await engine.send({ message: message(wish) }, call));
      expect(task.metadata).toEqual({ error_type: 'invalid_agent_response' });
      expect(task.artifacts).toEqual(good.artifacts);
    }
    const unknown = taskOf(await engine.send({ message: message('unknown') }, call));
    expect(unknown.metadata).toEqual({ error_type: 'invalid_agent_response' });
    expect(unknown.artifacts).toBeUndefined();
  });

  test('a last chunk is the last of its artifact in later turns, too; another version may take its place', async () => {
    const { engine, store } = await start(
      agent({ name: 'c' }, async function* (turn) {
        const wish = textOf(turn.message);
        if (!turn.isContinuation) {
          yield chunk('open', 'one ');
          yield chunk('sealed', 'one ');
          yield chunk('sealed', 'two', { append: true, last: true });
          yield artifact('whole', { artifactId: 'whole' });
          yield inputRequired('go on?');
          return;
        }
        if (wish === 'replace') yield chunk('sealed', 'new ');
        const id = wish === 'replace' ? 'sealed' : wish;
        yield chunk(id, 'three', { append: true });
        yield chunk(id, 'four', { append: true, last: true });
      }),
    );
    const turns = async (wish: string): Promise<{ task: Task; reads: number }> => {
      const { id: taskId } = taskOf(await engine.send({ message: message('go') }, call));
      const reading = vi.spyOn(store, 'readEvents');
      const answer = await engine.send({ message: message(wish, { taskId }) }, call);
      const reads = reading.mock.calls.length;
      reading.mockRestore();
      return { task: taskOf(answer), reads };
    };
    const refused = { error_type: 'invalid_agent_response' };
    expect((await turns('sealed')).task.metadata).toEqual(refused);
    expect((await turns('whole')).task.metadata).toEqual(refused);
    const added = await turns('open');
    expect(added.task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(added.task.artifacts?.[0]?.parts).toEqual([{ text: 'one threefour' }]);
    // The log is read once for each artifact of an earlier turn, not for each chunk.
    expect(added.reads).toBe(1);
    const replaced = await turns('replace');
    expect(replaced.task.artifacts?.[1]?.parts).toEqual([{ text: 'new threefour' }]);
    expect(replaced.reads).toBe(0);
  });

  test('an event larger than allowed fails the task, one at the bound does not', async () => {
    const { engine } = await start(
      agent({ name: 'l' }, async function* (turn) {
        yield artifact('x'.repeat(Number(textOf(turn.message))));
      }),
      { maxEventSize: 100 },
    );
    expect(taskOf(await engine.send({ message: message('100') }, call)).status.state).toBe(
      'TASK_STATE_COMPLETED',
    );
    expect(taskOf(await engine.send({ message: message('101') }, call)).status.state).toBe(
      'TASK_STATE_FAILED',
    );
  });

  test('a declared plain message is answered without a task, and repeats find it', async () => {
    let runs = 0;
    const direct = agent({ name: 'd', replies: 'message' }, async function* () {
      runs += 1;
      yield reply(`answer ${runs}`);
    });
    const { engine } = await start(direct);
    const said = message('x', { contextId: 'c' });
    const first = await engine.send({ message: said }, call);
    expect(first).toHaveProperty('message');
    const again = await engine.send({ message: said }, call);
    expect('message' in again && again.message.value).toEqual(
      'message' in first && first.message.value,
    );
    expect((await engine.listTasks({}, call)).totalSize).toBe(0);
    const stream = await engine.stream({ message: message('y') }, call);
    const events = [];
    for await (const event of stream) events.push(Object.keys(event.body.value));
    expect(events).toEqual([['message']]);
  });

  test('an undeclared plain message becomes a completed task', async () => {
    const { engine } = await start(
      agent({ name: 'd' }, async function* () {
        yield reply('hello');
      }),
    );
    const task = taskOf(await engine.send({ message: message('x') }, call));
    expect(task.status.message?.parts).toEqual([{ text: 'hello' }]);
  });

  test('§3.1.6 a subscriber to an input-required task stays and sees how it continues', async () => {
    const { engine } = await start(
      agent({ name: 'a' }, async function* (turn) {
        if (!turn.isContinuation) yield inputRequired('?');
      }),
    );
    const { id } = taskOf(await engine.send({ message: message('x') }, call));
    const stream = await engine.subscribe({ id }, call);
    const first = await stream.next();
    expect(Object.keys(first?.body.value ?? {})).toEqual(['task']);
    const rest = Array.fromAsync(stream);
    await engine.send({ message: message('y', { taskId: id }) }, call);
    expect((await rest).map(({ body }) => Object.keys(body.value)[0])).toEqual([
      'statusUpdate',
      'statusUpdate',
    ]);
    expect(await codeOf(engine.subscribe({ id }, call))).toBe('UNSUPPORTED_OPERATION');
    const old = await engine.subscribe({ id }, { ...call, version: '0.3' });
    expect(await Array.fromAsync(old)).toMatchObject([{ isLast: true }]);
  });

  test('Last-Event-ID resumes exactly after the event named', async () => {
    const { engine } = await start(echo);
    const { id } = taskOf(await engine.send({ message: message('x') }, call));
    const stream = await engine.subscribe({ id }, { ...call, lastEventId: 2 });
    expect((await Array.fromAsync(stream)).map(({ sequence }) => sequence)).toEqual([3, 4]);
  });

  test('a reader that falls behind catches up from the store and misses nothing', async () => {
    const chatty = agent({ name: 'chatty' }, async function* () {
      yield chunk('a', '0');
      for (let index = 1; index < 1_000; index += 1) {
        yield chunk('a', String(index), { append: true });
        if (index % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    });
    const { engine } = await start(chatty);
    const stream = await engine.stream({ message: message('x') }, call);
    await expect.poll(() => engine.runningTurns).toBe(0);
    const sequences = (await Array.fromAsync(stream)).map(({ sequence }) => sequence);
    expect(sequences).toEqual(Array.from({ length: 1_003 }, (_, index) => index + 1));
  });

  test('§3.1.4 lists are newest first, paged by a token that only fits its own list', async () => {
    const { engine } = await start(echo);
    for (let index = 0; index < 5; index += 1) {
      await engine.send({ message: message(String(index), { contextId: 'c' }) }, call);
    }
    const first = await engine.listTasks({ contextId: 'c', pageSize: 2 }, call);
    expect(first.totalSize).toBe(5);
    expect(first.tasks.every((task) => !('artifacts' in task))).toBe(true);
    const second = await engine.listTasks(
      { contextId: 'c', pageSize: 2, pageToken: first.nextPageToken, includeArtifacts: true },
      call,
    );
    const third = await engine.listTasks(
      { contextId: 'c', pageSize: 2, pageToken: second.nextPageToken },
      call,
    );
    expect(third.nextPageToken).toBe('');
    const ids = [...first.tasks, ...second.tasks, ...third.tasks].map(({ id }) => id);
    expect(new Set(ids).size).toBe(5);
    expect(second.tasks[0]?.artifacts).toHaveLength(1);
    const foreign = { pageToken: first.nextPageToken };
    expect(await codeOf(engine.listTasks(foreign, call))).toBe('INVALID_PARAMS');
    expect(await codeOf(engine.listTasks({ contextId: 'c', ...foreign }, alice))).toBe(
      'INVALID_PARAMS',
    );
    // A place of one's own choice, under the signature of another.
    const [payload = '', signature = ''] = first.nextPageToken.split('.');
    const [time, id] = JSON.parse(Buffer.from(payload, 'base64url').toString()) as unknown[];
    expect(id).toBe(first.tasks[1]?.id);
    const forged = Buffer.from(JSON.stringify([time, second.tasks[0]?.id])).toString('base64url');
    const forgedList = { contextId: 'c', pageSize: 2, pageToken: `${forged}.${signature}` };
    expect(await codeOf(engine.listTasks(forgedList, call))).toBe('INVALID_PARAMS');
    for (const pageSize of [0, 101, 1.5]) {
      expect(await codeOf(engine.listTasks({ pageSize }, call))).toBe('INVALID_PARAMS');
    }
    const last = first.tasks[0]?.status.timestamp ?? '';
    const since = await engine.listTasks({ statusTimestampAfter: last }, call);
    expect(since.tasks.map(({ id }) => id)).toContain(first.tasks[0]?.id);
  });

  test('§3.2.4 historyLength trims from the front, 0 leaves the history out', async () => {
    const { engine } = await start(
      agent({ name: 'a' }, async function* (turn) {
        if (!turn.isContinuation) yield inputRequired('?');
      }),
    );
    const { id } = taskOf(await engine.send({ message: message('x') }, call));
    await engine.send({ message: message('y', { taskId: id }) }, call);
    const lengths = async (historyLength?: number) =>
      (await engine.getTask({ id, ...(historyLength !== undefined && { historyLength }) }, call))
        .value.history?.length;
    expect(await lengths()).toBe(3);
    expect(await lengths(2)).toBe(2);
    expect(await lengths(0)).toBeUndefined();
  });

  test('parts of a media type that the agent does not take are refused', async () => {
    const { engine } = await start(echo);
    const part = { raw: 'AA==', mediaType: 'image/png' };
    expect(await codeOf(engine.send({ message: message(part) }, call))).toBe(
      'CONTENT_TYPE_NOT_SUPPORTED',
    );
    const fine = { text: 'x', mediaType: 'text/plain; charset=utf-8' };
    expect(taskOf(await engine.send({ message: message(fine) }, call)).status.state).toBe(
      'TASK_STATE_COMPLETED',
    );
  });

  test('too many open contexts: the task fails with context_limit, known contexts continue', async () => {
    const { engine } = await start(
      agent({ name: 'a' }, async function* (turn) {
        if (!turn.isContinuation) yield inputRequired('?');
      }),
      { maxContexts: 1 },
    );
    const first = taskOf(await engine.send({ message: message('x', { contextId: 'c' }) }, call));
    const refused = taskOf(await engine.send({ message: message('x', { contextId: 'd' }) }, call));
    expect(refused.status.state).toBe('TASK_STATE_FAILED');
    expect(refused.metadata).toEqual({ error_type: 'context_limit' });
    await engine.send({ message: message('y', { taskId: first.id }) }, call);
    const now = taskOf(await engine.send({ message: message('x', { contextId: 'd' }) }, call));
    expect(now.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  });

  describe('a superseding agent', () => {
    const asking = () =>
      agent({ name: 'a', supersedes: true }, async function* (turn) {
        const said = textOf(turn.message);
        if (said === 'done') yield completed();
        else yield inputRequired([data({ step: said }), text('?')]);
      });
    const say = async (engine: Engine, said: string, more: Partial<Message>) =>
      taskOf(await engine.send({ message: message(said, more) }, call));
    const stateOf = async (engine: Engine, id: string) => {
      const { status } = (await engine.getTask({ id }, call)).value;
      return [status.state, status.message?.parts];
    };

    test('takes the conversation over with a new task; the older one still asks, and names it', async () => {
      const { engine } = await start(asking());
      const first = await say(engine, 'one', { contextId: 'c' });
      const second = await say(engine, 'two', { contextId: 'c' });
      expect(await stateOf(engine, first.id)).toEqual([
        'TASK_STATE_INPUT_REQUIRED',
        [{ data: { state: 'input_required', step: 'one', superseded_by: second.id } }],
      ]);
    });

    test('closes the streams of the older task with its last status', async () => {
      const { engine } = await start(asking());
      const first = await say(engine, 'one', { contextId: 'c' });
      const stream = await engine.subscribe({ id: first.id }, call);
      const followed = Array.fromAsync(stream);
      await say(engine, 'two', { contextId: 'c' });
      const events = await followed;
      expect(events.map(({ isLast }) => isLast)).toEqual([false, true]);
      const late = await Array.fromAsync(await engine.subscribe({ id: first.id }, call));
      expect(late.map(({ isLast }) => isLast)).toEqual([true]);
    });

    test('continues in the older task when a message names it, and supersedes the newer', async () => {
      const { engine } = await start(asking(), { maxContexts: 1 });
      const first = await say(engine, 'one', { contextId: 'c' });
      const second = await say(engine, 'two', { contextId: 'c' });
      const again = await say(engine, 'three', { taskId: first.id });
      expect(again.id).toBe(first.id);
      expect(again.status.message?.parts[0]).toEqual({ data: { step: 'three' } });
      expect(await stateOf(engine, second.id)).toEqual([
        'TASK_STATE_INPUT_REQUIRED',
        [{ data: { state: 'input_required', step: 'two', superseded_by: first.id } }],
      ]);
      await say(engine, 'done', { taskId: first.id });
      const other = await say(engine, 'x', { contextId: 'd' });
      expect(other.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    });

    test('leaves the conversation alone when a superseded task is cancelled', async () => {
      const abandon = vi.fn(() => Promise.resolve(undefined));
      const { engine } = await start({ ...asking(), abandon });
      const first = await say(engine, 'one', { contextId: 'c' });
      await say(engine, 'two', { contextId: 'c' });
      const { value } = await engine.cancelTask({ id: first.id }, call);
      expect(value.status.state).toBe('TASK_STATE_CANCELED');
      expect(abandon).not.toHaveBeenCalled();
    });
  });

  test('so does one that waited its turn', async () => {
    const gate = Promise.withResolvers<void>();
    const { engine } = await start(
      agent({ name: 'a', supersedes: true }, async function* (turn) {
        if (textOf(turn.message) === 'wait') await gate.promise;
        yield textOf(turn.message) === 'ask' ? inputRequired('?') : working();
      }),
    );
    const say = async (text: string) =>
      taskOf(await engine.send({ message: message(text, { contextId: 'c' }) }, call));
    const said = ['wait', 'ask', 'answer'].map(say);
    gate.resolve();
    const [, asked, answered] = await Promise.all(said);
    const now = (await engine.getTask({ id: asked?.id ?? '' }, call)).value;
    expect(now.status.message?.parts).toEqual([
      { data: { state: 'input_required', superseded_by: answered?.id } },
    ]);
  });

  test('what an agent keeps of a conversation is there in the next turn', async () => {
    const counting = agent({ name: 'c' }, async function* (turn) {
      const count = Number((await turn.state.load())?.count ?? 0) + 1;
      const log = await turn.state.log();
      yield {
        kind: 'completed',
        parts: [{ text: `${count}/${log.length}` }],
        context: { value: { count }, log: [{ said: textOf(turn.message) }] },
      };
    });
    const { engine } = await start(counting);
    const say = async (contextId: string) =>
      taskOf(await engine.send({ message: message('x', { contextId }) }, call)).status.message
        ?.parts[0]?.text;
    expect([await say('c'), await say('c'), await say('d'), await say('c')]).toEqual([
      '1/0',
      '2/1',
      '1/0',
      '3/2',
    ]);
  });

  test('a repeated message runs again once its time is over', async () => {
    const scheduler = { ...systemScheduler, now: () => now };
    let now = 1_000_000;
    let runs = 0;
    const counting = agent({ name: 'counting' }, async function* () {
      runs += 1;
      yield artifact(String(runs));
    });
    const { engine } = await start(counting, { scheduler, messageCacheTtlMs: 1_000 });
    const said = message('x', { contextId: 'c' });
    const first = taskOf(await engine.send({ message: said }, call));
    now += 999;
    expect(taskOf(await engine.send({ message: said }, call)).id).toBe(first.id);
    now += 1;
    expect(taskOf(await engine.send({ message: said }, call)).id).not.toBe(first.id);
    expect(runs).toBe(2);
  });

  /** A replica whose tasks are as old as `age` says, and that sweeps when it is told to. */
  function sweeper() {
    const timers: (() => void)[] = [];
    const age = { milliseconds: 0 };
    const scheduler: Scheduler = {
      ...systemScheduler,
      now: () => Date.now() - age.milliseconds,
      after(delay, callback) {
        if (delay !== 77) return systemScheduler.after(delay, callback);
        timers.push(callback);
        return { cancel: () => {}, restart: () => {} };
      },
    };
    const sweep = async (): Promise<void> => {
      const before = timers.length;
      timers.at(-1)?.();
      await expect.poll(() => timers.length).toBe(before + 1);
    };
    return { age, sweep, options: { scheduler, sweepIntervalMs: 77 } };
  }

  test('ended tasks are kept for the retention time, unfinished ones forever', async () => {
    const { age, sweep, options } = sweeper();
    const { engine } = await start(
      agent({ name: 'a' }, async function* (turn) {
        if (textOf(turn.message) === 'ask') yield inputRequired('?');
      }),
      { ...options, retentionMs: hour },
    );
    age.milliseconds = 0.5 * hour;
    const young = taskOf(await engine.send({ message: message('x') }, call));
    age.milliseconds = 1.5 * hour;
    const old = taskOf(await engine.send({ message: message('x') }, call));
    const open = taskOf(await engine.send({ message: message('ask') }, call));
    await sweep();
    expect((await engine.getTask({ id: young.id }, call)).value.id).toBe(young.id);
    expect(await codeOf(engine.getTask({ id: old.id }, call))).toBe('TASK_NOT_FOUND');
    expect((await engine.getTask({ id: open.id }, call)).value.id).toBe(open.id);
  });

  test('the state of a conversation is swept when its time is over, but not while a task of it is open', async () => {
    const { age, sweep, options } = sweeper();
    const { engine, store } = await start(
      agent({ name: 'a' }, async function* (turn) {
        const context = { value: { kept: true } };
        if (textOf(turn.message) === 'ask') yield inputRequired('?', { context });
        else yield { kind: 'completed', context };
      }),
      { ...options, retentionMs: 0, contextRetentionMs: 24 * hour },
    );
    age.milliseconds = 23 * hour;
    await engine.send({ message: message('x', { contextId: 'young' }) }, call);
    age.milliseconds = 26 * hour;
    await engine.send({ message: message('x', { contextId: 'done' }) }, call);
    await engine.send({ message: message('ask', { contextId: 'open' }) }, call);
    await sweep();
    const kept = async (contextId: string): Promise<boolean> =>
      (await store.loadContext(ownerKey({ agent: 'a', ...call.caller }), contextId)) !== undefined;
    expect(await kept('young')).toBe(true);
    expect(await kept('done')).toBe(false);
    expect(await kept('open')).toBe(true);
  });

  test('expired idempotency keys and records are all swept at once, also where tasks are kept forever', async () => {
    const { age, sweep, options } = sweeper();
    const { engine, store } = await start(
      agent({ name: 'a' }, async function* () {}),
      { ...options, retentionMs: 0, messageCacheTtlMs: 1_000 },
    );
    age.milliseconds = hour;
    const said = Array.from({ length: 150 }, (_, index) =>
      message('x', { contextId: `c${index}` }),
    );
    const sent = await Promise.all(said.map((each) => engine.send({ message: each }, call)));
    const expiresAt = Date.now() - hour;
    await store.records.write(
      said.map(({ messageId }) => ({ space: 's', key: messageId, value: Json.of(1), expiresAt })),
      expiresAt - 1,
    );
    await sweep();
    // Nothing is left for another sweep.
    expect(await store.sweep({ limit: 1_000 })).toEqual({
      tasks: 0,
      contexts: 0,
      messages: 0,
      records: 0,
    });
    const [first] = sent;
    if (first === undefined) throw new Error('an answer was expected');
    const { id } = taskOf(first);
    expect((await engine.getTask({ id }, call)).value.id).toBe(id);
  });

  test('more events than a task may have fail it, as many as it may have do not', async () => {
    const { engine } = await start(
      agent({ name: 'm' }, async function* (turn) {
        for (let index = 0; index < Number(textOf(turn.message)); index += 1) yield working();
      }),
      { maxEvents: 10 },
    );
    // The task itself is the first event, and its end needs no room.
    expect(taskOf(await engine.send({ message: message('9') }, call)).status.state).toBe(
      'TASK_STATE_COMPLETED',
    );
    expect(taskOf(await engine.send({ message: message('10') }, call)).status.state).toBe(
      'TASK_STATE_FAILED',
    );
  });

  test('a turn left by a dead process fails as interrupted, or runs again, by policy', async () => {
    for (const [onInterrupted, state] of [
      ['fail', 'TASK_STATE_FAILED'],
      ['run-again', 'TASK_STATE_COMPLETED'],
    ] as const) {
      const place = await openPlace();
      const store = await place.open();
      let attempts = 0;
      const waiting = agent({ name: 'w', onInterrupted }, async function* (turn) {
        attempts += 1;
        yield working();
        if (turn.attempt === 1) await new Promise(() => {});
      });
      const dying = await Engine.start({ agent: waiting, store, cancelGraceMs: 0 });
      const task = taskOf(
        await dying.send(
          { message: message('x'), configuration: { returnImmediately: true } },
          call,
        ),
      );
      await expect
        .poll(async () => (await dying.getTask({ id: task.id }, call)).value.status.state)
        .toBe('TASK_STATE_WORKING');
      // The process dies: its heartbeat ends, and nothing it does reaches the store any more.
      await store.retire(dying.replica);
      const heir = await Engine.start({ agent: waiting, store: await place.open() });
      await expect
        .poll(async () => (await heir.getTask({ id: task.id }, call)).value.status.state)
        .toBe(state);
      if (onInterrupted === 'fail') {
        expect((await heir.getTask({ id: task.id }, call)).value.metadata).toEqual({
          error_type: 'interrupted',
        });
      } else expect(attempts).toBe(2);
      await dying.stop();
      await heir.stop();
      await place.remove();
    }
  });

  test('a turn left by a dead process that was to be cancelled is abandoned by its agent, and ends as cancelled', async () => {
    for (const hasAbandon of [true, false]) {
      const place = await openPlace();
      const store = await place.open();
      const abandoned: unknown[] = [];
      const waiting: Agent = {
        ...agent({ name: 'w', onInterrupted: 'run-again' }, async function* (turn) {
          await turn.journal?.write('begun', { id: 'there' });
          yield working();
          await new Promise(() => {});
        }),
        ...(hasAbandon && {
          abandon: async (turn: Turn) => {
            abandoned.push(await turn.journal?.read('begun'));
            return { metadata: { told: true } };
          },
        }),
      };
      const dying = await Engine.start({ agent: waiting, store, cancelGraceMs: 0 });
      const task = taskOf(
        await dying.send(
          { message: message('x'), configuration: { returnImmediately: true } },
          call,
        ),
      );
      await expect
        .poll(async () => (await dying.getTask({ id: task.id }, call)).value.status.state)
        .toBe('TASK_STATE_WORKING');
      await store.retire(dying.replica);
      await store.requestCancel(task.id);
      const heir = await Engine.start({ agent: waiting, store: await place.open() });
      await expect
        .poll(async () => (await heir.getTask({ id: task.id }, call)).value.status.state)
        .toBe('TASK_STATE_CANCELED');
      // What only the dead process knew is in the notes of the turn.
      expect(abandoned).toEqual(hasAbandon ? [{ id: 'there' }] : []);
      const { metadata } = (await heir.getTask({ id: task.id }, call)).value;
      expect(metadata).toEqual(hasAbandon ? { told: true } : undefined);
      await dying.stop();
      await heir.stop();
      await place.remove();
    }
  });
});
