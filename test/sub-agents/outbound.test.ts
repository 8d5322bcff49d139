/** §13.2: where the operator says so, sub agents are called at public addresses only. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { agent } from '../../src/agents/index.ts';
import { type BuildOptions, buildAssistant, loadProject } from '../../src/assistant/index.ts';
import { grpcBinding, serveGrpc } from '../../src/grpc/index.ts';
import { serve, type Serving } from '../../src/http/index.ts';
import { artifact } from '../../src/protocol/index.ts';
import { trip } from './support.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function hotel(options: { url?: string } = {}): Promise<Serving> {
  const made = agent({ name: 'hotel' }, async function* () {
    yield artifact('The Ritz.');
  });
  const server = await serve(made, options);
  cleanups.push(() => server.close());
  return server;
}

/** Builds an assistant that asks its sub agent at once whether it is there. */
async function build(card: string, outbound: string, options?: BuildOptions): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'legate-outbound-'));
  cleanups.push(() => rm(directory, { recursive: true }));
  const files = {
    ...trip,
    'endpoints.yml': `outbound: ${outbound}\n`,
    'sub_agents/finder/config.yml': `
agent: {name: finder, protocol: a2a, description: Finds hotels.}
configuration: {agent_card: "${card}", startup_check: fail}
`,
  };
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, name)), { recursive: true });
    await writeFile(join(directory, name), text);
  }
  const { project, problems } = await loadProject({ directory }, {});
  problems.throwIfErrors();
  const assistant = await buildAssistant(project, options);
  await assistant.close({ graceMs: 0 });
}

test.each([
  ['{}', false],
  ['{allow_private: true}', false],
  ['{allowed_hosts: [partners.example.com]}', false],
  ['{allow_loopback: true}', true],
  ['{allowed_names: [localhost]}', true],
])('outbound: %s, and an agent on this machine', async (outbound, isAllowed) => {
  const { port } = await hotel();
  const building = build(`http://localhost:${port}/.well-known/agent-card.json`, outbound);
  if (isAllowed) await building;
  else await expect(building).rejects.toThrow(/sub agent finder does not answer/);
});

test('a card from an allowed place cannot send calls to a forbidden one', async () => {
  const elsewhere = await hotel();
  const { port } = await hotel({ url: `http://127.0.0.1:${elsewhere.port}` });
  await expect(
    build(`http://localhost:${port}/.well-known/agent-card.json`, '{allowed_names: [localhost]}'),
  ).rejects.toThrow(/sub agent finder does not answer/);
});

test.each([
  ['{allowed_names: [localhost]}', '127.0.0.1', false],
  ['{allowed_names: [localhost]}', 'localhost', true],
])('outbound: %s holds over gRPC to %s, too', async (outbound, host, isAllowed) => {
  const { port, router } = await hotel();
  // The card is fetched from an allowed place in either case.
  const door = await serveGrpc(router);
  cleanups.push(() => door.close({ graceMs: 0 }));
  const supportedInterfaces = door.interfaces.map((each) => ({
    ...each,
    url: `${host}:${door.port}`,
  }));
  await router.cards.replace({ ...router.cards.current, supportedInterfaces });
  const building = build(`http://localhost:${port}/.well-known/agent-card.json`, outbound, {
    bindings: (policy) => [grpcBinding({ policy })],
  });
  if (isAllowed) await building;
  else await expect(building).rejects.toThrow(/127\.0\.0\.1 is on the loopback network/);
});
