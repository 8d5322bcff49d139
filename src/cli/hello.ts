import { resolve } from 'node:path';
import { agent, textOf, working } from '../agents/index.ts';
import { serve } from '../http/index.ts';
import { artifact } from '../protocol/index.ts';
import type { HelloOptions } from './commands/operations.ts';
import { greetingOf } from './greeting.ts';
import { untilSignal } from './signals.ts';

const greeter = agent(
  { name: 'hello', description: 'Greets whoever writes to it.' },
  async function* (turn) {
    yield working('Thinking of something nice to say');
    yield artifact(`Hello, ${textOf(turn.message).trim() || 'stranger'}!`, { name: 'greeting' });
  },
);

/** Serves the greeting agent until told to stop. */
export async function hello(options: HelloOptions): Promise<void> {
  const path = resolve(options.data, 'hello.db');
  await using server = await serve(greeter, {
    port: options.port,
    store: { type: 'sqlite', path },
    isLenient: true,
  });
  console.log(
    greetingOf({
      what: 'the agent "hello"',
      url: server.url,
      inspectorUrl: undefined,
      hasCard: true,
      data: path,
      command: `npx legate send ${server.url} "world"`,
    }),
  );
  await untilSignal();
}
