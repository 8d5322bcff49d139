/** Serves an agent by the own server of Bun or Deno: `runtime-server.ts server <port>`. */
import { agent, artifact, router, textOf, working } from '../../src/index.ts';

type Fetch = (request: Request, host?: unknown) => Promise<Response>;

declare const Bun: { serve(options: { port: number; hostname: string; fetch: Fetch }): unknown };
declare const Deno: { serve(options: { port: number; hostname: string }, fetch: Fetch): unknown };

const echo = agent({ name: 'echo' }, async function* (turn) {
  yield working();
  if (textOf(turn.message) !== 'hold') return yield artifact(turn.message.parts);
  await new Promise((resolve) => turn.signal.addEventListener('abort', resolve, { once: true }));
});
const port = Number(process.argv[3]);
const hostname = '127.0.0.1';
const { handler } = await router(echo, { url: `http://${hostname}:${port}` });
if (typeof Deno === 'undefined') Bun.serve({ port, hostname, fetch: handler.fetch });
else Deno.serve({ port, hostname }, handler.fetch);
