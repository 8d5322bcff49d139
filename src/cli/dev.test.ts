import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { legate, patient, start } from './testing/legate-process.ts';

const agentSaying = (answer: string) => `import { agent } from 'legate';
export const polite = agent({ name: 'polite' }, async ({ session }) => {
  const count = Number((await session.get('count')) ?? 0) + 1;
  session.set('count', count);
  return ${answer} + ' ' + count;
});
`;
const failing = `import { agent } from 'legate';
export const failing = agent({ name: 'failing' }, () => { throw new Error('out of paper'); });
`;

async function moduleWith(code: string) {
  const folder = await mkdtemp(join(tmpdir(), 'legate-dev-'));
  const file = join(folder, 'agent.ts');
  await writeFile(file, code);
  return {
    folder,
    file,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

async function freePort(): Promise<string> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return String(typeof address === 'object' ? address?.port : '');
}

test('the shell talks to the agent of a module', patient, async () => {
  await using module = await moduleWith(agentSaying("'Hello'"));
  const { code, out } = await legate(['shell', module.file], { input: 'hi\nagain\n' });
  expect([code, out]).toEqual([0, 'Hello 1\nHello 2\n']);
});

test(
  'the shell shows why the agent of a module failed, except in production',
  patient,
  async () => {
    await using module = await moduleWith(failing);
    const [plain, production] = await Promise.all([
      legate(['shell', module.file], { input: 'hi\n' }),
      legate(['shell', module.file], { input: 'hi\n', env: { NODE_ENV: 'production' } }),
    ]);
    expect(plain.out).toContain('out of paper');
    expect(production.out).not.toContain('out of paper');
    expect(production.err).toContain('out of paper');
  },
);

test(
  'dev serves the inspector, reloads on change and keeps the conversation',
  patient,
  async () => {
    await using module = await moduleWith(agentSaying("'Hello'"));
    const port = await freePort();
    const running = start(['dev', module.file, '--port', port], { directory: module.folder });
    const send = async () => {
      const url = `http://localhost:${port}`;
      const { out } = await legate(['send', url, 'hi', '--context-id', 'mine']);
      return out;
    };
    try {
      await expect.poll(() => running.out, { timeout: 60_000 }).toContain('Stop:');
      const inspector = /^Inspector: +(\S+)$/m.exec(running.out)?.[1];
      expect(inspector).toContain(`:${port}/inspect/?token=`);
      expect(await send()).toContain('Hello 1');
      await writeFile(module.file, 'export const broken = ;');
      await expect.poll(() => running.err, { timeout: 60_000 }).toContain('Waiting for a change');
      await writeFile(module.file, agentSaying("'Goodbye'"));
      await expect.poll(() => running.out.split('Stop:'), { timeout: 60_000 }).toHaveLength(3);
      expect(await send()).toContain('Goodbye 2');
      expect(running.out.split(inspector ?? '')).toHaveLength(3);
    } finally {
      running.child.kill('SIGTERM');
    }
    expect((await running.ended).code).toBe(0);
  },
);

test('dev that is stopped during a restart starts no further process', patient, async () => {
  const code = `import { existsSync } from 'node:fs';
console.error('loaded');
if (existsSync('done')) process.exit(1);
const timer = setInterval(() => existsSync('done') && clearInterval(timer), 20);
process.on('SIGTERM', () => console.error('stopping'));
${agentSaying("'Hello'")}`;
  await using module = await moduleWith(code);
  const flags = ['--port', await freePort()];
  const running = start(['dev', module.file, ...flags], { directory: module.folder });
  const times = (word: string) => running.err.split(`${word}\n`).length - 1;
  try {
    await expect.poll(() => running.out, { timeout: 60_000 }).toContain('Stop:');
    await writeFile(module.file, `${code}\n`);
    await expect.poll(() => times('stopping'), { timeout: 60_000 }).toBe(1);
    running.child.kill('SIGTERM');
    await expect.poll(() => times('stopping'), { timeout: 60_000 }).toBe(2);
  } finally {
    await writeFile(join(module.folder, 'done'), '');
    if (!running.child.killed) running.child.kill('SIGTERM');
  }
  expect((await running.ended).code).toBe(0);
  expect(times('loaded')).toBe(1);
});

test(
  'dev starts again for modules, wherever they are, and never for what the agent writes',
  patient,
  async () => {
    await using module = await moduleWith('');
    const app = join(module.folder, 'app');
    const words = join(module.folder, 'words.ts');
    const outside = JSON.stringify('../words.ts');
    await mkdir(app);
    await writeFile(words, "export const greeting = 'Hello';");
    await writeFile(
      join(app, 'agent.ts'),
      `import { appendFileSync } from 'node:fs';
import { agent, openStore } from 'legate';
import { greeting } from ${outside};
await openStore({ type: 'sqlite', path: 'tasks.db' });
let count = 0;
export const clerk = agent({ name: 'clerk' }, () => {
  appendFileSync('ledger.txt', 'sold\\n');
  appendFileSync('notes.json', '{}\\n');
  count += 1;
  return greeting + ' ' + count;
});
`,
    );
    const port = await freePort();
    const running = start(['dev', 'agent.ts', '--port', port], { directory: app });
    const send = async () => (await legate(['send', `http://localhost:${port}`, 'hi'])).out;
    try {
      await expect.poll(() => running.out, { timeout: 60_000 }).toContain('Stop:');
      expect(await send()).toContain('Hello 1');
      await writeFile(join(app, 'dev.log'), running.out);
      // The count is of this process: it has not started again.
      expect(await send()).toContain('Hello 2');
      expect(running.err).not.toContain('starting again');
      await writeFile(words, "export const greeting = 'Goodbye';");
      await expect.poll(() => running.out.split('Stop:'), { timeout: 60_000 }).toHaveLength(3);
      expect(running.err.match(/.+ changed: starting again/g)).toEqual([
        `${join('..', 'words.ts')} changed: starting again`,
      ]);
      expect(await send()).toContain('Goodbye 1');
    } finally {
      running.child.kill('SIGTERM');
    }
    expect((await running.ended).code).toBe(0);
  },
);

test(
  'dev says what to change in a module that serves its agent itself, and does not loop',
  patient,
  async () => {
    await using module = await moduleWith(`import { agent, serve } from 'legate';
const greeter = agent({ name: 'greeter' }, () => 'Hello');
await serve(greeter, { store: { type: 'sqlite', path: 'tasks.db' } });
`);
    const running = start(['dev', 'agent.ts', '--port', '0'], { directory: module.folder });
    try {
      await expect.poll(() => running.err, { timeout: 60_000 }).toContain('Waiting for a change');
      expect(running.err).toMatch(
        /agent\.ts serves its agent itself, at http:\S+: .*export const .*remove the call of serve.*node --watch agent\.ts/,
      );
      await writeFile(module.file, agentSaying("'Hello'"));
      await expect.poll(() => running.out, { timeout: 60_000 }).toContain('Stop:');
      expect(running.err.match(/starting again/g)).toHaveLength(1);
    } finally {
      running.child.kill('SIGTERM');
    }
    expect((await running.ended).code).toBe(0);
  },
);

test('dev serves the export that it is told', patient, async () => {
  await using module = await moduleWith(`import { agent } from 'legate';
export const ann = agent({ name: 'ann' }, () => 'I am Ann');
export const bob = agent({ name: 'bob' }, () => 'I am Bob');
`);
  const port = await freePort();
  const running = start(['dev', 'agent.ts#bob', '--port', port], { directory: module.folder });
  try {
    await expect.poll(() => running.out, { timeout: 60_000 }).toContain('Stop:');
    expect((await legate(['send', `http://localhost:${port}`, 'hi'])).out).toContain('I am Bob');
  } finally {
    running.child.kill('SIGTERM');
  }
  expect((await running.ended).code).toBe(0);
});
