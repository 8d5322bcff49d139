/**
 * §5.1: the same operations, results and errors over every binding. Each row runs over all six; its
 * results must equal those of JSON-RPC 1.0, and its errors have the same code.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { errors } from './bindings/errors.ts';
import { normalise } from './bindings/normalise.ts';
import { results } from './bindings/results.ts';
import { codeOf, finished, type Row, say, type Stage } from './bindings/row.ts';
import {
  openReceiver,
  requiredExtension,
  type ServerKind,
  serverKinds,
  TestServer,
} from './bindings/servers.ts';
import { type Binding, bindings } from './bindings/transports.ts';

const servers = new Map<ServerKind, TestServer>();
let receiver: Awaited<ReturnType<typeof openReceiver>>;
beforeAll(async () => {
  receiver = await openReceiver();
  for (const kind of serverKinds) servers.set(kind, await TestServer.start(kind));
});
afterAll(async () => {
  for (const server of servers.values()) await server[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

function stageOf({ server: kind = 'full' }: Pick<Row, 'server'>): Stage {
  const server = servers.get(kind);
  if (server === undefined) throw new Error(`no server ${kind}`);
  return { server, hook: receiver.url };
}

/** The outcome over every binding that has a part in the row, by its name. */
async function overAll(
  row: Row,
  outcome: (binding: Binding) => Promise<unknown>,
): Promise<Record<string, unknown>> {
  const outcomes: Record<string, unknown> = {};
  for (const binding of bindings) {
    outcomes[binding.name] = row.without?.[binding.name] ?? (await outcome(binding));
  }
  return outcomes;
}

const alike = (row: Row, outcome: unknown): Record<string, unknown> =>
  Object.fromEntries(bindings.map(({ name }) => [name, row.without?.[name] ?? outcome]));

describe('the same results', () => {
  test.each(Object.entries(results))('%s', async (_name, row) => {
    const stage = stageOf(row);
    const outcomes = await overAll(row, async (binding) =>
      normalise(await row.run(stage.server.through(binding), stage)),
    );
    const reference = bindings.find(({ name }) => row.without?.[name] === undefined)?.name ?? '';
    expect({ outcome: outcomes[reference] }).toMatchObject({ outcome: row.expected });
    expect(outcomes).toEqual(alike(row, outcomes[reference]));
  });
});

describe('the same errors', () => {
  test.each(Object.entries(errors))('%s', async (_name, row) => {
    const stage = stageOf(row);
    const outcomes = await overAll(row, (binding) =>
      codeOf(() => row.run(stage.server.through(binding), stage)),
    );
    expect(outcomes).toEqual(alike(row, row.code));
  });
});

test('a required extension that the caller names opens the door, in each version’s spelling', async () => {
  const { server } = stageOf({ server: 'demanding' });
  for (const binding of bindings) {
    const name = binding.version === '1.0' ? 'A2A-Extensions' : 'X-A2A-Extensions';
    const headers = { [name]: requiredExtension };
    const request = { message: say('refuse') };
    const answer = await server.through(binding).call('sendMessage', request, { headers });
    expect(answer).toMatchObject(finished('TASK_STATE_REJECTED'));
  }
});
