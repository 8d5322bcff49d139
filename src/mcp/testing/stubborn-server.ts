/** A server of an older protocol: it exits if its first message is not `initialize`. */
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

interface Request {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly protocolVersion?: string };
}

const { STARTS } = process.env;
if (STARTS !== undefined) appendFileSync(STARTS, 'started\n');
let isInitialized = false;
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line) as Request;
  if (!isInitialized && method !== 'initialize') process.exit(1);
  isInitialized = true;
  if (id === undefined) continue;
  const result =
    method === 'initialize'
      ? {
          protocolVersion: params?.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'stubborn', version: '1' },
        }
      : { tools: [] };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
}
