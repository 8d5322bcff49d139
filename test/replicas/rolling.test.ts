import { expect, test } from 'vitest';
import { type Client, connect } from '../../src/client/index.ts';
import { message, type Task } from '../../src/protocol/index.ts';
import { postgres, startPostgres } from '../support/postgres.ts';
import { getTask, leave, send, stateOf, textOf } from './calls.ts';
import { Cluster } from './cluster.ts';

/** A client that repeats what failed for want of a server, with the same message id. */
function patientClient(cluster: Cluster): Promise<Client> {
  return connect('http://127.0.0.1/', {
    fetch: cluster.fetch,
    retry: { attempts: 40, initialMs: 50, maximumMs: 500 },
    poll: { initialMs: 50, maximumMs: 200 },
  });
}

/** Conversations that say one thing after the other until they are told to stop. */
class Load {
  readonly #client: Client;
  readonly #conversations: { readonly contextId: string; readonly answers: string[] }[];
  readonly #work: Promise<void>[];
  readonly failures: unknown[] = [];
  readonly messageIds: string[] = [];
  #isOver = false;

  constructor(client: Client, conversations: number) {
    this.#client = client;
    this.#conversations = Array.from({ length: conversations }, (_, index) => ({
      contextId: `context-${index}`,
      answers: [],
    }));
    this.#work = this.#conversations.map((conversation) => this.#converse(conversation));
  }

  get answers(): readonly (readonly string[])[] {
    return this.#conversations.map(({ answers }) => answers);
  }

  get size(): number {
    return this.messageIds.length;
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#work);
  }

  async #converse({ contextId, answers }: { contextId: string; answers: string[] }): Promise<void> {
    while (!this.#isOver) {
      const said = message('pause 15', { contextId });
      try {
        const answer = await this.#client.sendMessage({ message: said });
        if (!('task' in answer)) throw new Error('a task was expected');
        answers.push(textOf(answer.task));
        this.messageIds.push(said.messageId);
      } catch (error) {
        this.failures.push(error);
      }
    }
  }
}

/** Every answer counted one more than the one before it: nothing was lost, nothing ran twice. */
function expectOneEffectEach(load: Load): void {
  for (const answers of load.answers) {
    expect(answers).toEqual(answers.map((_, index) => String(index + 1)));
  }
}

test(
  'a rolling restart under load: no failed request, no lost and no repeated turn',
  { timeout: 60_000 },
  async () => {
    const database = await (await postgres()).database();
    await using cluster = await Cluster.start({ database, leaseMs: 3_000 }, 2);
    const load = new Load(await patientClient(cluster), 8);
    for (let round = 0; round < 3; round += 1) {
      const size = load.size;
      await expect.poll(() => load.size, { timeout: 20_000 }).toBeGreaterThan(size + 20);
      const [oldest] = cluster.alive;
      await cluster.add();
      expect(await oldest?.stop()).toBe(0);
    }
    await load.end();
    expect(load.failures).toEqual([]);
    expectOneEffectEach(load);
    const runs = new Map<string, number>();
    for (const { messageId } of cluster.began) runs.set(messageId, (runs.get(messageId) ?? 0) + 1);
    expect([...runs.values()].filter((count) => count !== 1)).toEqual([]);
    expect(runs.size).toBe(load.size);
  },
);

test('a replica that is stopped hands its queue over', { timeout: 60_000 }, async () => {
  const database = await (await postgres()).database();
  await using cluster = await Cluster.start({ database, leaseMs: 1_500 });
  const [leaving, staying] = [cluster.at(0), cluster.at(1)];
  const first = await leave(leaving, 'wait x', { contextId: 'c' });
  const queued = await leave(leaving, 'say y', { contextId: 'c' });
  await expect.poll(() => cluster.began).toHaveLength(1);
  const stopped = leaving.stop();
  leaving.tell({ open: 'x' });
  cluster.open('x');
  await stopped;
  await expect
    .poll(async () => stateOf(await getTask(staying, queued.task.id)), { timeout: 10_000 })
    .toBe('COMPLETED');
  expect(stateOf(await getTask(staying, first.task.id))).toMatch(/COMPLETED|FAILED/);
  expect(cluster.began.at(-1)).toMatchObject({ began: 'say y', by: staying, attempt: 1 });
});

for (const kill of [false, true]) {
  const how = kill ? 'crashes' : 'restarts';
  test(
    `a database that ${how} under load: replicas stay up, and nothing acknowledged is lost`,
    { timeout: 90_000 },
    async () => {
      const server = await startPostgres();
      const database = await server.database();
      await using cluster = await Cluster.start({
        database,
        leaseMs: 6_000,
        onInterrupted: 'run-again',
      });
      const before = (await send(cluster.next(), 'say before', { contextId: 'before' })).task;
      const load = new Load(await patientClient(cluster), 6);
      await expect.poll(() => load.size, { timeout: 20_000 }).toBeGreaterThan(10);
      await server.restart({ kill });
      const size = load.size;
      await expect.poll(() => load.size, { timeout: 40_000 }).toBeGreaterThan(size + 30);
      await load.end();
      expect(cluster.alive).toHaveLength(2);
      expect(load.failures).toEqual([]);
      expectOneEffectEach(load);
      for (const replica of cluster.alive) {
        expect(await getTask(replica, before.id)).toEqual(before);
      }
    },
  );
}

test(
  'while the database is away, requests are refused with 503 and Retry-After, not with an end',
  { timeout: 60_000 },
  async () => {
    const server = await startPostgres();
    await using cluster = await Cluster.start({ database: await server.database() }, 1);
    const replica = cluster.at(0);
    const { task } = await send(replica, 'say x', { contextId: 'c' });
    await server.restart({
      meanwhile: async () => {
        const refused = await send(replica, 'say y', { contextId: 'c' });
        expect(refused.status).toBe(503);
        expect(refused.headers.get('retry-after')).toBe('1');
        expect(refused.error.details[0]?.reason).toBe('STORE_FAILED');
      },
    });
    const answered: Task[] = [];
    await expect
      .poll(
        async () => {
          const answer = await send(replica, 'say y', { contextId: 'c' });
          if (answer.status === 200) answered.push(answer.task);
          return answer.status;
        },
        { timeout: 20_000 },
      )
      .toBe(200);
    expect(answered.map(textOf)).toEqual(['2']);
    expect(await getTask(replica, task.id)).toEqual(task);
  },
);
