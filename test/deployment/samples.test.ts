import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { legate, patient, start } from '../../src/cli/testing/legate-process.ts';
import { writeSections } from '../newcomer/sections.ts';
import { postgres } from '../support/postgres.ts';
import { rabbitMq } from '../support/rabbitmq.ts';
import { freePort } from '../support/servers.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

function temporary(): string {
  const directory = mkdtempSync(join(tmpdir(), 'legate-samples-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** The variables that compose.yml and the chart's secret set. */
async function variables(): Promise<NodeJS.ProcessEnv> {
  return {
    DATABASE_URL: await (await postgres()).database(),
    JWT_SECRET: 'a-secret-of-at-least-32-characters',
    OTLP_ENDPOINT: 'http://127.0.0.1:9',
  };
}

/** The bank as in the image, with these files mounted. */
function bankWith(files: Readonly<Record<string, string>>): string {
  const directory = temporary();
  cpSync(join(root, 'examples/bank'), directory, {
    recursive: true,
    filter: (path) => !path.endsWith('/.legate'),
  });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  return directory;
}

const { services } = z
  .object({
    services: z.record(
      z.string(),
      z.object({
        command: z.array(z.string()).default([]),
        environment: z.record(z.string(), z.string()).default({}),
        volumes: z.array(z.string()).default([]),
      }),
    ),
  })
  .parse(parse(read('deploy/compose.yml')));

/** The files that a service of compose.yml mounts in its project. */
function mountedIn(service: string): Readonly<Record<string, string>> {
  const files = (services[service]?.volumes ?? []).map((volume) => {
    const [source = '', target = ''] = volume.split(':');
    return [target.replace('/app/project/', ''), read(join('deploy', source))] as const;
  });
  return Object.fromEntries(files);
}

const everyAddress = ['--interface', '0.0.0.0', '--port', '0'];

/** Starts the project on every address; resolves to the status of a request without a token on each channel. */
async function statusesOf(directory: string, env: NodeJS.ProcessEnv) {
  const running = start(['run', directory, ...everyAddress], { env });
  try {
    await expect.poll(() => running.out + running.err, { timeout: 60_000 }).toContain('Stop:');
    const url = /at (http:\/\/\S+)/.exec(running.out)?.[1] ?? '';
    const post = async (path: string): Promise<number> => {
      const request = { method: 'POST', body: '{"sender": "x", "message": "hello"}' };
      return (await fetch(new URL(path, url), request)).status;
    };
    return {
      ready: (await fetch(new URL('/ready', url))).status,
      a2a: await post('/'),
      rest: await post('/webhooks/rest/webhook'),
    };
  } finally {
    running.child.kill('SIGTERM');
    await running.ended;
  }
}

const served = { ready: 200, a2a: 401, rest: 401 };

test(
  'the bank with the files that compose.yml mounts starts on every address and authenticates every channel',
  patient,
  async () => {
    const mounted = mountedIn('assistant');
    expect(Object.keys(mounted)).toEqual(['endpoints.yml', 'credentials.yml']);
    const directory = bankWith(mounted);
    expect(await statusesOf(directory, await variables())).toEqual(served);
  },
);

test(
  'the bank with the files of the chart starts on every address and authenticates every channel',
  patient,
  async () => {
    const { endpoints, credentials } = z
      .object({ endpoints: z.string(), credentials: z.string() })
      .parse(parse(read('deploy/helm/legate/values.yaml')));
    const directory = bankWith({ 'endpoints.yml': endpoints, 'credentials.yml': credentials });
    expect(await statusesOf(directory, await variables())).toEqual(served);
  },
);

test(
  'an assistant made by legate init starts on every address with what its README has you write, and not before',
  patient,
  async () => {
    const directory = temporary();
    await legate(['init', '.', '--kind', 'assistant', '--name', 'inn'], { directory });
    const open = await legate(['run', '.', ...everyAddress], { directory });
    expect(open).toMatchObject({ code: 2, err: expect.stringContaining('refusing to listen') });
    const readme = readFileSync(join(directory, 'README.md'), 'utf8');
    expect(writeSections(readme, directory)).toEqual(['endpoints.yml', 'credentials.yml']);
    expect(await statusesOf(directory, await variables())).toEqual(served);
  },
);

test(
  'the worker and the gateway of compose.yml start as written, and the gateway passes a message to the worker',
  patient,
  async () => {
    const { url: AMQP_URL } = await rabbitMq();
    const database = await postgres();
    const ports = { worker: await freePort(), gateway: await freePort() };
    const startService = async (name: 'worker' | 'gateway') => {
      const { command = [], environment = {} } = services[name] ?? {};
      const own = {
        ...(await variables()),
        AMQP_URL,
        LEGATE_STORE: await database.database(),
        // Where clients reach the gateway, for the card.
        LEGATE_URL: `http://127.0.0.1:${ports.gateway}`,
      };
      const env = Object.fromEntries(Object.entries(own).filter(([key]) => key in environment));
      expect(Object.keys(env).toSorted()).toEqual(Object.keys(environment).toSorted());
      const args = command.map((arg) => (/^\d+$/.test(arg) ? String(ports[name]) : arg));
      const project = bankWith(mountedIn(name));
      // The image has the project in the folder `project` of its working directory.
      const at = args.map((arg) => (arg === 'project' ? project : arg));
      const running = start(at, { env, directory: temporary() });
      onTestFinished(async () => {
        running.child.kill('SIGTERM');
        await running.ended;
      });
      const ready = (): Promise<number> =>
        fetch(`http://127.0.0.1:${ports[name]}/ready`).then(
          ({ status }) => status,
          () => 0,
        );
      await expect.poll(ready, { timeout: 60_000 }).toBe(200);
    };
    await startService('worker');
    await startService('gateway');
    const gateway = `http://127.0.0.1:${ports.gateway}`;
    const token = await new SignJWT({ sub: 'shop' })
      .setProtectedHeader({ alg: 'HS256' })
      .setExpirationTime('1h')
      .sign(new TextEncoder().encode((await variables()).JWT_SECRET));
    const card: unknown = await (
      await fetch(`${gateway}/agents/bank/.well-known/agent-card.json`)
    ).json();
    expect(card).toHaveProperty('supportedInterfaces.0.url', gateway);
    expect((await legate(['send', gateway, 'hello'])).code).toBe(4);
    const sent = await legate(['send', gateway, "what's my balance?"], {
      env: { A2ACLI_BEARER: token },
    });
    expect(sent).toMatchObject({ code: 0, out: expect.stringMatching(/name|account|balance/i) });
  },
);
