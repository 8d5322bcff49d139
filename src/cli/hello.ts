import { resolve } from 'node:path';
import { agent, textOf, working } from '../agents/index.ts';
import { artifact } from '../protocol/index.ts';
import type { HelloOptions } from './commands/operations.ts';
import { exampleRequests } from './example-requests.ts';
import { greetUntilSignal, serveAgent } from './serving.ts';

const greeter = agent(
  { name: 'hello', description: 'Greets its callers.' },
  async function* (turn) {
    yield working('Thinking of something nice to say');
    yield artifact(`Hello, ${textOf(turn.message).trim() || 'stranger'}!`, { name: 'greeting' });
  },
);

/** Serves the greeting agent until the process is stopped. */
export async function hello({ port, data }: HelloOptions): Promise<void> {
  const path = resolve(data, 'hello.db');
  const store = { type: 'sqlite', path } as const;
  await using started = await serveAgent(greeter, { port, store, isLenient: true });
  const shown = { text: 'world', hasCard: true, hasChannel: false };
  await greetUntilSignal({ ...started, requests: exampleRequests(started.url, shown) });
}
