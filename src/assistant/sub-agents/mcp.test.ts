import { expect, test } from 'vitest';
import { silentLogger } from '../../telemetry/index.ts';
import { END } from '../model.ts';
import { McpPool, toolHandler } from './mcp.ts';

test('a tool whose server is down is not called again after an interruption', async () => {
  const server = {
    name: 'bookings',
    // Nothing listens there.
    url: 'http://127.0.0.1:1/mcp',
    auth: undefined,
    tls: undefined,
    metaMap: { static: {}, fromSlots: [] },
  };
  const pool = new McpPool(new Map([['bookings', server]]), {
    directory: '.',
    logger: silentLogger,
  });
  const isRepeatable = await toolHandler(pool).isRepeatable?.({
    kind: 'call',
    id: 'book',
    target: 'book_table',
    mcpServer: 'bookings',
    next: { branches: [{ to: END }] },
    position: { file: 'flows.yml', line: 1, column: 1 },
  });
  expect(isRepeatable).toBe(false);
  await pool.close();
});
