import { type ChildProcess, fork } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { greenhouseFolder } from '../support/greenhouse.ts';
import { postgres } from '../support/postgres.ts';
import { send } from './calls.ts';
import { Cluster } from './cluster.ts';

let database: string;
beforeEach(async () => {
  database = await (await postgres()).database();
});

test('the requests of a caller are counted over all replicas', async () => {
  // A burst of four is a window of 40 seconds: long enough for a slow machine.
  const callerLimits = { requestsPerSecond: 0.1, burst: 4 };
  await using cluster = await Cluster.start({ database, callerLimits }, 3);
  const statuses: number[] = [];
  for (let index = 0; index < 24; index += 1) {
    const { status, headers } = await send(cluster.next(), `say ${index}`);
    statuses.push(status);
    if (status === 429) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  }
  const passed = statuses.filter((status) => status === 200).length;
  // The border between two windows may lie in between; each replica by itself would let twelve pass.
  expect(passed).toBeGreaterThanOrEqual(4);
  expect(passed).toBeLessThanOrEqual(8);
  expect(statuses.every((status) => status === 200 || status === 429)).toBe(true);
});

/** A process that serves an assistant. */
class AssistantReplica implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #url: string;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.#url = `http://127.0.0.1:${port}`;
  }

  static async start(directory: string): Promise<AssistantReplica> {
    const file = join(import.meta.dirname, 'assistant-server.ts');
    const child = fork(file, [directory, database], { execArgv: [] });
    const { port } = await new Promise<{ port: number }>((resolve, reject) => {
      child.once('exit', () => reject(new Error('the replica did not start')));
      child.once('message', resolve);
    });
    return new AssistantReplica(child, port);
  }

  async change(method: 'PUT' | 'DELETE', body?: object): Promise<number> {
    const response = await fetch(`${this.#url}/model`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    await response.body?.cancel();
    return response.status;
  }

  /** The first answer to a message; what the model says tells which one it is. */
  async say(text: string, sender: string): Promise<string> {
    const response = await fetch(`${this.#url}/webhooks/rest/webhook`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ sender, message: text }),
    });
    const answers = (await response.json()) as { readonly text?: string }[];
    return answers[0]?.text ?? String(response.status);
  }

  async model(): Promise<string> {
    const response = await fetch(`${this.#url}/status`);
    const { model_id: id } = (await response.json()) as { readonly model_id?: string };
    return id ?? `none (${response.status})`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = new Promise((resolve) => void this.#child.once('exit', resolve));
    this.#child.kill('SIGKILL');
    await ended;
  }
}

test('a model that is put in place on one replica is served by all, also by those that come later', async () => {
  await using folder = await greenhouseFolder();
  await using one = await AssistantReplica.start(folder.directory);
  await using two = await AssistantReplica.start(folder.directory);
  const first = await one.model();
  expect(await two.model()).toBe(first);
  expect(await two.say('water a plant', 'ada')).toBe('Which plant?');

  await folder.write({
    'data/more.yml':
      'flows:\n  extra:\n    description: More.\n    steps:\n      - action: action_report\n',
  });
  expect(await one.change('PUT', {})).toBe(204);
  const second = await one.model();
  expect(second).not.toBe(first);
  await expect.poll(() => two.model(), { timeout: 15_000 }).toBe(second);
  // The conversation continues where it was, whichever replica it comes to.
  expect(await one.say('Monstera', 'ada')).toBe('How many litres?');

  expect(await two.change('DELETE')).toBe(204);
  await expect.poll(() => one.model(), { timeout: 15_000 }).toMatch(/none/);
  await rm(folder.path('data/more.yml'));
  await using three = await AssistantReplica.start(folder.directory);
  expect(await three.model()).toMatch(/none/);
  expect(await three.change('PUT', {})).toBe(204);
  await expect.poll(() => one.model(), { timeout: 15_000 }).toBe(first);
  await expect.poll(() => two.model(), { timeout: 15_000 }).toBe(first);
}, 60_000);
