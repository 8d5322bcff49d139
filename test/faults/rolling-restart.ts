import { Agent, request } from 'node:http';
import { Cluster } from '../replicas/cluster.ts';
import { Balancer } from '../support/balancer.ts';
import { startPostgres } from '../support/postgres.ts';
import { Random } from './random.ts';
import { RollingStream } from './rolling-stream.ts';
import type { ScenarioOptions, ScenarioResult } from './scenario.ts';

export interface RollingRestartOptions extends ScenarioOptions {
  /** Messages that are sent, besides those that stream. @default 10_000 */
  readonly requests?: number;
}

const senders = 20;
const streamers = 6;
/** How often the balancer asks for `/ready`, which makes the replicas give notice by default. */
const healthMs = 100;
const drainMs = 2_000;

/**
 * Restarts two replicas by turns, each by SIGTERM, behind a load balancer that checks their health and
 * repeats nothing, while clients send and stream. No request may fail, and no stream that is resumed
 * with `Last-Event-ID` may lose an event or get one twice.
 */
export async function rollingRestart(options: RollingRestartOptions): Promise<ScenarioResult> {
  const { seed, milliseconds, report, requests = 10_000 } = options;
  const random = new Random(seed);
  const database = await (await startPostgres()).database();
  await using balancer = await Balancer.start(healthMs);
  await using cluster = await Cluster.start(
    {
      database,
      leaseMs: 3_000,
      pollIntervalMs: 300,
      drainMs,
      onInterrupted: 'run-again',
    },
    0,
  );
  const injected = { 'rolling restarts': 0 };
  const checked = { requests: 0, streams: 0, 'streams resumed': 0, 'events in order': 0 };
  const violations: string[] = [];
  const start = async (): Promise<void> => {
    const { url } = await cluster.add();
    balancer.add(url);
    while (!balancer.isHealthy(url)) await pause(10);
  };
  await start();
  await start();
  const deadline = performance.now() + milliseconds;
  let left = requests;
  const isOver = (): boolean => left <= 0 || performance.now() > deadline;

  const send = async (number: number): Promise<void> => {
    const connections = new Agent({ keepAlive: true, maxSockets: 1 });
    while (!isOver()) {
      left -= 1;
      const failure = await say(balancer.url, `say ${number}`, connections);
      checked.requests += 1;
      if (failure !== undefined) violations.push(`a request failed: ${failure}`);
      // Now and then a connection is idle for a while, as those of people are.
      if (random.next() < 0.02) await pause(random.between(10, 200));
    }
    connections.destroy();
  };
  const stream = async (): Promise<void> => {
    while (!isOver()) {
      // Most turns end within notice and drain, and some do not.
      const steps = random.next() < 0.7 ? random.between(5, 20) : random.between(140, 200);
      const followed = new RollingStream(balancer.url, `steps ${steps}`);
      violations.push(...(await followed.run()));
      checked.streams += 1;
      checked['streams resumed'] += followed.resumed;
      checked['events in order'] += followed.events;
    }
  };
  const restart = async (): Promise<void> => {
    while (!isOver()) {
      const [oldest] = cluster.alive;
      await start();
      const code = await oldest?.stop();
      if (code !== 0) violations.push(`a replica ended with ${String(code)}`);
      if (oldest !== undefined) balancer.remove(oldest.url);
      injected['rolling restarts'] += 1;
      report(`${checked.requests} requests, ${injected['rolling restarts']} restarts`);
    }
  };
  await Promise.all([
    ...Array.from({ length: senders }, (_, number) => send(number)),
    ...Array.from({ length: streamers }, stream),
    restart(),
  ]);
  violations.push(...balancer.failures.map((why) => `the balancer: ${why}`));
  return { injected, checked, violations };
}

/** Sends a message once; gives why it failed. */
function say(url: string, text: string, agent: Agent): Promise<string | undefined> {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] };
  const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' };
  return new Promise((resolve) => {
    const call = request(`${url}/message:send`, { method: 'POST', headers, agent }, (response) => {
      let body = '';
      response.on('data', (piece: Buffer) => (body += piece.toString()));
      response.once('error', (error) => resolve(String(error)));
      response.once('end', () => {
        const isDone = response.statusCode === 200 && body.includes('TASK_STATE_COMPLETED');
        resolve(isDone ? undefined : `${response.statusCode} ${body.slice(0, 200)}`);
      });
    });
    call.once('error', (error) => resolve(String(error)));
    call.end(JSON.stringify({ message }));
  });
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
