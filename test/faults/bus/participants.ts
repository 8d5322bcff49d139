import { agent, textOf } from '../../../src/agents/index.ts';
import {
  type Bus,
  type BusDialect,
  busLink,
  done,
  gateway,
  hostOnBus,
  MessageSigner,
  MessageVerifier,
  openBus,
  statusQueue,
  taskQueueName,
  topics,
} from '../../../src/bus/index.ts';
import { artifact } from '../../../src/protocol/index.ts';
import { generateSigningKey, publicKeySet } from '../../../src/push/index.ts';
import { openMemory } from '../../../src/store/index.ts';
import type { Logger } from '../../../src/telemetry/index.ts';
import { Counts } from './counts.ts';
import { joinPeers, type PeerNetwork } from '../../../src/peers/index.ts';

export interface ParticipantsOptions {
  readonly url: string;
  readonly exchange: string;
  /** @default 'legate' */
  readonly dialect?: BusDialect;
  readonly publishTimeoutMs?: number;
}

/** Everybody there is on a bus: a worker, a caller of peers, a gateway and an onlooker. */
export interface Participants extends AsyncDisposable {
  readonly bus: Bus;
  readonly agent: string;
  readonly queue: string;
  /** Topics that replies were asked to. */
  readonly replyTopics: ReadonlySet<string>;
  /** How often each message was worked on, by its text. */
  readonly turns: ReadonlyMap<string, number>;
  /** Log events from `warn` on. */
  readonly events: Counts;
  /** Errors that a consumer did not expect. */
  readonly failures: readonly string[];
  /** Calls the agent as a peer, and answers with what it said. */
  call(text: string): Promise<string | undefined>;
  /** Calls the agent over HTTP, by the gateway. */
  callOverHttp(text: string): Promise<string>;
}

export async function startParticipants(options: ParticipantsOptions): Promise<Participants> {
  const { exchange, url, dialect = 'legate', publishTimeoutMs = 30_000 } = options;
  const events = new Counts();
  const failures: string[] = [];
  const quiet = (): void => undefined;
  const note = (fields: Readonly<Record<string, unknown>>, event: string): void => {
    events.add(event);
    if (unexpected.has(event) && failures.length < 20)
      failures.push(`${event}: ${String(fields.error)}`);
  };
  const logger: Logger = {
    debug: quiet,
    info: quiet,
    warn: note,
    error: note,
    child: () => logger,
  };
  const opened = await openBus({
    type: 'rabbitmq',
    url,
    exchange,
    dialect,
    publishTimeoutMs,
    logger,
  });
  const replyTopics = new Set<string>();
  const bus = noting(opened, replyTopics);
  const name = `echo-${exchange}`;
  const turns = new Map<string, number>();
  const echo = agent({ name, skills: ['echo'] }, async function* (turn) {
    const text = textOf(turn.message);
    turns.set(text, (turns.get(text) ?? 0) + 1);
    yield artifact(`heard ${text}`);
  });
  // Without a signature anybody on the bus may describe the agent anew.
  const key = generateSigningKey();
  const verifier = new MessageVerifier({ trusted: [{ issuer: name, keys: publicKeySet([key]) }] });
  const signer = new MessageSigner({ issuer: name, key });
  const network = await joinPeers({
    name: 'caller',
    store: openMemory(),
    links: [busLink({ bus, verifier })],
    logger,
    wellKnown: [{ name }],
    timeoutMs: 180_000,
    maxInFlight: 10_000,
  });
  const server = await gateway({ bus, agents: [name], port: 0, logger, verifier });
  // Last, so that the others hear it announce itself.
  const host = await hostOnBus(echo, { bus, logger, signer, verifier });
  await heard(network, name);
  const onlooker = await bus.consume(statusQueue(`onlooker-${exchange}`), async () => done);
  const session = { id: 'faults', caller: { tenant: '', subject: 'user', method: 'test' } };
  return {
    bus,
    agent: name,
    queue: taskQueueName(name),
    replyTopics,
    turns,
    events,
    failures,
    async call(text) {
      const request = { agent: name, skill: 'echo', message: text };
      return (await network.invoker.invokeAndWait(request, session)).outcome?.text;
    },
    async callOverHttp(text) {
      const message = { messageId: text, role: 'ROLE_USER', parts: [{ text }] };
      const response = await fetch(server.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }),
        signal: AbortSignal.timeout(60_000),
      });
      return response.text();
    },
    async [Symbol.asyncDispose]() {
      await onlooker.close();
      await server.close();
      await network.close();
      await host.close();
      await opened.close();
    },
  };
}

/** Resolves once the announcement of the agent has arrived: it names its skills. */
async function heard({ directory }: PeerNetwork, name: string): Promise<void> {
  const end = Date.now() + 30_000;
  while ((await directory.list({ skill: 'echo' })).length === 0) {
    if (Date.now() > end) throw new Error(`${name} was not announced`);
    await new Promise((resolve) => void setTimeout(resolve, 20));
  }
}

/** Events that no message may cause. */
const unexpected = new Set([
  'bus.handler.failed',
  'bus.message.dropped',
  'bus.settle.failed',
  'bus.channel.failed',
  'bus.connection.lost',
]);

/** All topics of these participants. */
export function topicsOf({ agent: name, replyTopics }: Participants): readonly string[] {
  const own = [topics.task(name), topics.cancel(name), topics.status, topics.discovery];
  return own.concat(...replyTopics);
}

function noting(bus: Bus, replyTopics: Set<string>): Bus {
  return {
    type: bus.type,
    brokerVersion: bus.brokerVersion,
    queues: bus.queues,
    get isConnected() {
      return bus.isConnected;
    },
    get isBlocked() {
      return bus.isBlocked;
    },
    dialect: bus.dialect,
    publish(topic, message, options) {
      if (message.replyTo !== undefined) replyTopics.add(message.replyTo);
      return bus.publish(topic, message, options);
    },
    declare: (queue, options) => bus.declare(queue, options),
    consume: (queue, handler, options) => bus.consume(queue, handler, options),
    inspect: (queue) => bus.inspect(queue),
    brokerQueueName: (queue) => bus.brokerQueueName(queue),
    deadQueueName: (queue) => bus.deadQueueName(queue),
    deadLetters: (queue, options) => bus.deadLetters(queue, options),
    bury: (queue, message, death) => bus.bury(queue, message, death),
    replay: (queue, options) => bus.replay(queue, options),
    oldest: (queue) => bus.oldest(queue),
    purge: (queue) => bus.purge(queue),
    delete: (queue) => bus.delete(queue),
    close: () => bus.close(),
    [Symbol.asyncDispose]: () => bus.close(),
  };
}
