/** An assistant in a process of its own, which can be killed. */
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { type Client, connect } from '../../src/client/index.ts';
import { message, type Task } from '../../src/protocol/index.ts';

export interface AssistantProcess extends AsyncDisposable {
  readonly client: Client;
  /** Resolves when an action has run. */
  ran(action: string): Promise<void>;
  kill(): Promise<void>;
}

/** Serves the project in the folder. Actions report to the parent process: `process.send({ event: name })`. */
export async function startAssistant(
  directory: string,
  environment: Readonly<Record<string, string>>,
): Promise<AssistantProcess> {
  const child = fork(join(import.meta.dirname, 'assistant-server.ts'), [directory], {
    execArgv: [],
    env: { ...process.env, ...environment },
  });
  const ready = Promise.withResolvers<number>();
  const events = new Map<string, PromiseWithResolvers<void>>();
  const event = (name: string): PromiseWithResolvers<void> => {
    const known = events.get(name) ?? Promise.withResolvers<void>();
    events.set(name, known);
    return known;
  };
  child.on('message', (told: { port?: number; event?: string }) => {
    if (told.port !== undefined) ready.resolve(told.port);
    if (told.event !== undefined) event(told.event).resolve();
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.once('exit', () => ready.reject(new Error('the server did not start')));
  const kill = (): Promise<void> => {
    child.kill('SIGKILL');
    return ended;
  };
  try {
    return {
      client: await connect(`http://127.0.0.1:${await ready.promise}`),
      ran: (action) => event(action).promise,
      kill,
      [Symbol.asyncDispose]: kill,
    };
  } catch (error) {
    await kill();
    throw error;
  }
}

/** Sends a message without waiting for its end; returns the id of the task. */
export async function begin({ client }: AssistantProcess, text: string): Promise<string> {
  const configuration = { returnImmediately: true };
  const answer = await client.sendMessage({ message: message(text), configuration });
  if (!('task' in answer)) throw new Error('a task was expected');
  return answer.task.id;
}

export function textsOf({ status }: Task): readonly string[] {
  return (status.message?.parts ?? []).flatMap(({ text }) => text ?? []);
}
