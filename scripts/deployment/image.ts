import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { endServers } from '../../test/support/servers.ts';
import { postgres } from '../../test/support/postgres.ts';
import { type BuiltImage, executeDockerfile } from './dockerfile.ts';
import { deploy, output, root } from './tools.ts';

/**
 * Executes the steps of the Dockerfile without a container, mounts the sample files of `deploy/` and
 * starts the unchanged command of the image, on every address, with PostgreSQL. Then does the same for
 * the image of a project that `legate init` creates.
 */
export async function checkImage(): Promise<string> {
  const place = mkdtempSync(join(tmpdir(), 'legate-image-'));
  try {
    const sample = await checkSample(join(place, 'sample'));
    const created = await checkCreated(join(place, 'created'));
    return `${sample + created} steps of two Dockerfiles executed, the commands answer at /ready on every address`;
  } finally {
    endServers();
    rmSync(place, { recursive: true, force: true });
  }
}

/** The image of deploy/Dockerfile. Returns the number of steps. */
async function checkSample(place: string): Promise<number> {
  mkdirSync(place);
  const file = join(deploy, 'Dockerfile');
  const image = await executeDockerfile({ file, context: root, place, env: process.env });
  for (const name of ['endpoints.yml', 'credentials.yml']) {
    cpSync(join(deploy, name), join(image.directory, 'project', name));
  }
  await checkStarts(image, {
    DATABASE_URL: await (await postgres()).database(),
    JWT_SECRET: 'a-secret-of-at-least-32-characters',
    OTLP_ENDPOINT: 'http://127.0.0.1:9',
  });
  return image.steps;
}

/** The image of an agent that `legate init` creates. Returns the number of steps. */
async function checkCreated(place: string): Promise<number> {
  const context = join(place, 'agent');
  const stages = join(place, 'stages');
  mkdirSync(stages, { recursive: true });
  output(process.execPath, [join(root, 'bin/legate.cjs'), 'init', context, '--kind', 'agent']);
  output('npm', ['pack', root, '--pack-destination', join(context, 'vendor')], { cwd: context });
  const file = join(context, 'Dockerfile');
  const image = await executeDockerfile({ file, context, place: stages, env: process.env });
  await checkStarts(image, { AUTH_TOKEN: 'a-token-of-the-check' });
  return image.steps;
}

async function checkStarts(image: BuiltImage, variables: NodeJS.ProcessEnv): Promise<void> {
  const port = await freePort();
  const given = image.command.map((arg) => (arg === '5005' ? String(port) : arg));
  const args = given.includes(String(port)) ? given : [...given, '--port', String(port)];
  const [program = '', ...more] = [...image.entrypoint, ...args];
  const server = spawn(program, more, {
    cwd: image.directory,
    env: {
      ...process.env,
      ...variables,
      PATH: [...image.path, process.env['PATH']].join(delimiter),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let told = '';
  server.stderr.setEncoding('utf8').on('data', (text: string) => (told += text));
  const ended = once(server, 'exit');
  try {
    const failed = ended.then(() => {
      throw new Error(`the command of the image ended: ${told}`);
    });
    await Promise.race([untilReady(port), failed]);
  } finally {
    server.kill('SIGTERM');
    await ended;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}

async function untilReady(port: number): Promise<void> {
  for (let attempt = 0; attempt < 120; attempt += 1) {
    const isReady = await fetch(`http://127.0.0.1:${port}/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return;
    await setTimeout(500);
  }
  throw new Error('the image does not answer at /ready within a minute');
}
