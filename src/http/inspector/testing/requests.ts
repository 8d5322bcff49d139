import { message } from '../../../protocol/index.ts';
import type { InspectedServer } from './inspected-server.ts';

export const callers = { subject: (subject: string) => ({ tenant: '', subject, method: 'test' }) };

/** Says something to the agent as this caller, and gives the id of the task. */
export async function send(server: InspectedServer, text: string, subject = ''): Promise<string> {
  const { engine } = server.serving.router;
  const outcome = await engine.send(
    { message: message(text), configuration: { returnImmediately: text === 'wait' } },
    { caller: callers.subject(subject), version: '1.0' },
  );
  if (!('task' in outcome)) throw new Error('a task was expected');
  return outcome.task.value.id;
}

/** A request that changes something. */
export function post(body: unknown = {}) {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
}

/** The number of open connections. */
export function connections({ serving }: InspectedServer): Promise<number> {
  return new Promise((resolve) => serving.server.getConnections((_, count) => resolve(count)));
}
