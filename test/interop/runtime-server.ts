/**
 * Our agent on Bun or Deno. `runtime-server.ts server <port>` serves it by the runtime's own server.
 * `runtime-server.ts client <url>` asks the agent at the URL, and one that it serves itself, with SQLite.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { agent, artifact, connect, router, serve, textOf, working } from '../../src/index.ts';

type Fetch = (request: Request, host?: unknown) => Promise<Response>;

declare const Bun: { serve(options: { port: number; hostname: string; fetch: Fetch }): unknown };
declare const Deno: { serve(options: { port: number; hostname: string }, fetch: Fetch): unknown };

const echo = agent({ name: 'echo' }, async function* (turn) {
  yield working();
  if (textOf(turn.message) !== 'hold') return yield artifact(turn.message.parts);
  await new Promise((resolve) => turn.signal.addEventListener('abort', resolve, { once: true }));
});
const [, , mode, target = ''] = process.argv;
if (mode === 'client') await ask(target);
else await open(Number(target));

async function open(port: number): Promise<void> {
  const hostname = '127.0.0.1';
  const { handler } = await router(echo, { url: `http://${hostname}:${port}` });
  if (typeof Deno === 'undefined') Bun.serve({ port, hostname, fetch: handler.fetch });
  else Deno.serve({ port, hostname }, handler.fetch);
}

async function ask(url: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'legate-runtime-'));
  const path = join(folder, 'tasks.db');
  const answers = [(await (await connect(url)).ask('there')).text];
  for (const message of ['first', 'second']) {
    const server = await serve(echo, { store: { type: 'sqlite', path } });
    const client = await connect(server.url);
    answers.push((await client.ask(message)).text);
    answers.push(`${(await client.listTasks({})).tasks.length} tasks`);
    await server.close();
  }
  await rm(folder, { recursive: true });
  console.log(JSON.stringify(answers));
  process.exit();
}
