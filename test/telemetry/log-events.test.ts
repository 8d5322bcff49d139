import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { loggedEvents } from '../../scripts/reference/scan.ts';
import {
  type Agent,
  agent,
  llmAgent,
  remoteAgent,
  tool,
  type TurnEvent,
} from '../../src/agents/index.ts';
import { Authenticator, bearerTokenVerifier } from '../../src/auth/index.ts';
import { hostOnBus, openBus } from '../../src/bus/index.ts';
import { connect } from '../../src/client/index.ts';
import { type Channel, serve, type ServeOptions } from '../../src/http/index.ts';
import { scriptedModel } from '../../src/models/index.ts';
import { joinPeers, peerSubject } from '../../src/peers/index.ts';
import { artifact, message } from '../../src/protocol/index.ts';
import { publicPolicy } from '../../src/push/index.ts';
import { openMemory } from '../../src/store/index.ts';
import { type Logger, startSpan, startTelemetry } from '../../src/telemetry/index.ts';
import { OtlpCollector } from '../support/otlp-collector.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

function keep<T extends AsyncDisposable>(opened: T): T {
  closing.push(() => Promise.resolve(opened[Symbol.asyncDispose]()));
  return opened;
}

/** Remembers what is logged, as `level event`. */
class Listening {
  readonly lines: string[] = [];
  readonly logger: Logger = this.#logger();

  #logger(): Logger {
    const at = (level: string) => (_: unknown, event: string) =>
      void this.lines.push(`${level} ${event}`);
    return {
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      child: () => this.#logger(),
    };
  }
}

const echo = agent({ name: 'echo' }, async function* () {
  yield artifact('x');
});

/** Sends one message to a server of the agent; ignores the result. */
async function send(one: Agent, options: ServeOptions, url?: string): Promise<void> {
  const server = keep(await serve(one, { drainMs: 0, ...options }));
  const client = await connect(server.url);
  const push = url === undefined ? {} : { taskPushNotificationConfig: { url } };
  await client.sendMessage({ message: message('x'), configuration: push }).catch(() => undefined);
}

async function webhook(status: number): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => response.writeHead(status).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const nowhere = 'http://127.0.0.1:1';

/** What happens, and what must be logged then. */
const scenes: Readonly<Record<string, readonly [(logger: Logger) => Promise<void>, string[]]>> = {
  'an agent throws': [
    (logger) =>
      send(
        agent({ name: 'broken' }, async function* () {
          yield artifact('x');
          throw new Error('x');
        }),
        { logger },
      ),
    ['error tasks.agent.failed'],
  ],
  'an agent yields an invalid event': [
    (logger) =>
      send(
        agent({ name: 'strange' }, async function* () {
          yield { kind: 'nonsense' } as unknown as TurnEvent;
        }),
        { logger },
      ),
    ['error tasks.agent.invalid_response'],
  ],
  'a tool throws, and then the model': [
    (logger) => {
      const broken = tool({
        name: 'break',
        description: 'Breaks.',
        input: z.object({}),
        run: async () => {
          throw new Error('x');
        },
      });
      const model = scriptedModel(({ messages }) => {
        if (messages.at(-1)?.role === 'tool') throw new Error('x');
        return { toolCalls: [{ name: 'break', input: {} }] };
      });
      return send(llmAgent({ name: 'clerk', model, tools: [broken] }), { logger });
    },
    ['warn agents.tool.failed', 'error agents.model.failed'],
  ],
  'a remote agent is away': [
    (logger) => send(remoteAgent(nowhere, { name: 'far', retry: false }), { logger }),
    ['warn agents.remote.unreachable'],
  ],
  'a channel throws': [
    async (logger) => {
      const broken: Channel = {
        name: 'broken',
        mount: ({ route }) => route('GET', '/', () => Promise.reject(new Error('x'))),
      };
      const server = keep(await serve(echo, { logger, channels: [broken], drainMs: 0 }));
      expect((await fetch(server.url)).status).toBe(500);
    },
    ['error http.internal_error'],
  ],
  'a webhook takes what it is sent': [
    async (logger) => send(echo, { logger, push: {} }, await webhook(200)),
    ['debug push.delivered'],
  ],
  'a webhook is broken': [
    async (logger) => {
      const push = { maxAttempts: 2, backoff: { initialDelay: 1 } };
      await send(echo, { logger, push }, await webhook(500));
    },
    ['warn push.retry', 'warn push.dead'],
  ],
  'a webhook is to go where it must not': [
    (logger) => send(echo, { logger, push: { policy: publicPolicy } }, 'http://127.0.0.1:9/'),
    ['warn audit.url_refused'],
  ],
  'a stranger calls': [
    (logger) => {
      const tokens = [{ token: 'a-long-secret', subject: 'me' }];
      const verifiers = [bearerTokenVerifier({ tokens })];
      return send(echo, { logger, auth: new Authenticator({ verifiers }) });
    },
    ['warn audit.unauthenticated'],
  ],
  'a message of the bus cannot be read': [
    async (logger) => {
      const bus = keep(await openBus({ type: 'memory', logger }));
      keep(await hostOnBus(echo, { bus, logger }));
      await bus.publish('agent.task.echo', { type: 'task', body: 'poison' });
    },
    ['warn bus.dead_letter'],
  ],
  'a peer cannot be reached, is trusted, and is not': [
    async (logger) => {
      const wellKnown = [{ name: 'far', url: nowhere }];
      const network = keep(await joinPeers({ name: 'me', store: openMemory(), wellKnown, logger }));
      const grant = { level: 'act', skills: ['x'], by: 'user' } as const;
      await network.trust.grant(peerSubject('far'), grant);
      await network.trust.revoke(peerSubject('far'), { by: 'user' });
    },
    ['warn peers.card.fetch_failed', 'info peers.trust.granted', 'info peers.trust.revoked'],
  ],
  'a collector is away for a while, and telemetry is asked for twice': [
    async (logger) => {
      let status = 400;
      const collector = keep(await OtlpCollector.open(() => status));
      const otlp = { endpoint: collector.endpoint };
      const telemetry = keep(await startTelemetry({ otlp, logger }));
      keep(await startTelemetry({ otlp, logger }));
      for (status of [400, 200]) {
        startSpan('x').end();
        await telemetry.flush();
      }
    },
    ['info telemetry.shared', 'warn telemetry.export.failed', 'info telemetry.export.recovered'],
  ],
};

test.each(Object.entries(scenes))('%s: it is logged', async (_, [happen, expected]) => {
  const listening = new Listening();
  await happen(listening.logger);
  await expect.poll(() => listening.lines).toEqual(expect.arrayContaining(expected));
  // As the reference has them, and nothing that it has not.
  const listed = Array.from(loggedEvents(), ([event, level]) => `${level} ${event}`);
  expect(listed).toEqual(expect.arrayContaining(listening.lines));
});
