import { resolve } from 'node:path';
import { agent, textOf, working } from '../agents/index.ts';
import { serve } from '../http/index.ts';
import { artifact } from '../protocol/index.ts';
import { untilSignal } from './signals.ts';

const greeter = agent(
  { name: 'hello', description: 'Greets whoever writes to it.' },
  async function* (turn) {
    yield working('Thinking of something nice to say');
    yield artifact(`Hello, ${textOf(turn.message).trim() || 'stranger'}!`, { name: 'greeting' });
  },
);

/** Serves the greeting agent until told to stop. */
export async function hello(options: { port: number; data: string }): Promise<void> {
  const path = resolve(options.data, 'hello.db');
  await using server = await serve(greeter, {
    port: options.port,
    store: { type: 'sqlite', path },
    isLenient: true,
  });
  console.log(`Serving the agent "hello" at ${server.url}

Try it:
  curl ${server.url} -H 'A2A-Version: 1.0' -H 'Content-Type: application/json' -d '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"world"}]}}}'

Card:   ${server.url}/.well-known/agent-card.json
Tasks:  kept in ${path}
Stop:   Ctrl+C`);
  await untilSignal();
}
