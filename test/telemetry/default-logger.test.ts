/** A program that sets up no logger still shows on standard error what went wrong. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const source = join(import.meta.dirname, '../../src');
const run = promisify(execFile);

/** Runs a program as its author would, and gives what it writes. */
async function program(
  script: string,
  more: NodeJS.ProcessEnv = {},
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, NODE_NO_WARNINGS: '1', ...more };
  const imports = `
    import { agent, connect, llmAgent, openStore, Runner, serve, silentLogger } from '${source}/index.ts';
    import { createModel } from '${source}/models/index.ts';
    import { createServer } from 'node:http';
    const failing = agent({ name: 'clerk', skills: ['x'] }, async function* () {
      throw new Error('no login at the bank: password=hunter2');
    });
    const ask = async (served, options = {}) => {
      const server = await serve(served, options);
      const client = await connect(server.url);
      const { task } = await client.sendMessage('hello');
      console.log(JSON.stringify(task));
      await client.close?.();
      await server.close();
    };
  `;
  const args = ['--input-type=module', '-e', `${imports}\n${script}`];
  return await run(process.execPath, args, { env, timeout: 60_000 });
}

test('serve(): an agent that throws is on standard error, with its stack and without secrets', async () => {
  const { stdout, stderr } = await program('await ask(failing);', { NODE_ENV: 'production' });
  expect(stderr).toMatch(/ error tasks\.agent\.failed .*taskId=/);
  expect(stderr).toMatch(/^Error: no login at the bank: password=\[redacted\]\n\s+at /m);
  expect(stderr).not.toContain('hunter2');
  expect(stdout).toContain('TASK_STATE_FAILED');
  expect(stdout).not.toContain('no login');
});

test('serve(): in development the caller gets the message too, without secrets', async () => {
  const { stdout } = await program('await ask(failing);');
  expect(stdout).toContain('no login at the bank: password=[redacted]');
  expect(stdout).not.toContain('hunter2');
});

test('serve(): silentLogger and LOG_LEVEL=silent turn it off', async () => {
  expect((await program('await ask(failing, { logger: silentLogger });')).stderr).toBe('');
  expect((await program('await ask(failing);', { LOG_LEVEL: 'silent' })).stderr).toBe('');
});

test('Runner: an agent that throws is on standard error', async () => {
  const { stderr } = await program(`
    const runner = new Runner({ agent: failing, store: await openStore({ type: 'memory' }) });
    await runner.run({ message: 'hello' }).catch(() => undefined);
  `);
  expect(stderr).toContain('Error: no login at the bank: password=[redacted]');
});

test('a model that answers 401: provider, model, and which key to check', async () => {
  const { stdout, stderr } = await program(
    `
    const refusing = createServer((_, response) => {
      response.writeHead(401, { 'content-type': 'application/json' });
      response.end('{"error": {"message": "Incorrect API key provided"}}');
    }).listen(0, '127.0.0.1', async () => {
      const api_base = 'http://127.0.0.1:' + refusing.address().port + '/v1';
      const models = [{ provider: 'openai', model: 'gpt-x', api_base }];
      const model = createModel({ id: 'main', models });
      await ask(llmAgent({ name: 'clerk', description: 'x', model, instruction: 'x' }));
      refusing.closeAllConnections();
      refusing.close();
    });
  `,
    { OPENAI_API_KEY: 'sk-hunter2hunter2hunter2', NODE_ENV: 'production' },
  );
  expect(stderr).toContain(
    'model gpt-x of openai answered 401: Incorrect API key provided; ' +
      'check OPENAI_API_KEY in the environment, or set api_key of model group "main": models[0]',
  );
  expect(stderr + stdout).not.toContain('hunter2');
  expect(stdout).not.toContain('OPENAI_API_KEY');
});
