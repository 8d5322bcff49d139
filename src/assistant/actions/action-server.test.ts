import { expect, test } from 'vitest';
import { silentLogger } from '../../telemetry/index.ts';
import { ActionServer } from './action-server.ts';
import { RemoteActions } from './remote.ts';

test('an action server whose process cannot be created is down with the reason', async () => {
  const exits: unknown[] = [];
  await using server = new ActionServer({
    // No command has this name: `spawn` throws.
    python: { command: 'a\0b', args: [], install: '', hasRasa: true },
    module: 'actions',
    directory: import.meta.dirname,
    environment: {},
    connect: (url) => new RemoteActions({ url }),
    expected: [],
    logger: { ...silentLogger, error: (fields) => void exits.push(fields) },
  });
  await server.start();
  expect(server.failure).toMatch(/^the Python action server of "actions" does not run: The arg/);
  expect(exits).toMatchObject([{ code: 'ERR_INVALID_ARG_VALUE', retryInMs: expect.any(Number) }]);
});
