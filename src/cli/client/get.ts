import type { GetCommandOptions } from '../commands/get.ts';
import { Progress } from '../progress.ts';
import { authorized } from './authorization.ts';
import { calling } from './calling.ts';
import { isOn, usage } from './choices.ts';
import { Output } from './output.ts';
import { historyOf } from './send.ts';
import type { Session } from './session.ts';

/** Shows a task, as it is or as it ends. */
export async function getTask(
  operands: readonly string[],
  options: GetCommandOptions,
): Promise<void> {
  await calling(options, operands, async (session) => {
    const id = taskIdOf(session);
    const { setting, timeoutMs } = session.choices;
    const historyLength = historyOf(options.history ?? setting('history'));
    const { stream: isStream = false } = options;
    const client = await session.connect();
    const { signal } = session;
    const call = { signal, ...(timeoutMs !== undefined && { timeoutMs }) };
    if (options.wait ?? isOn(setting('wait'))) {
      session.waitsFor(id);
      using _progress = new Progress('Waiting for the task');
      const awaitsAuthorization = options.awaitAuth ?? isOn(setting('await-auth'));
      for (;;) {
        const { status } = await client.waitForEnd(id, call);
        if (!awaitsAuthorization || status.state !== 'TASK_STATE_AUTH_REQUIRED') break;
        await authorized(id, client, session);
      }
    }
    // Asked for again after the wait: what was waited for has a history of its own length.
    const request = { id, ...(historyLength !== undefined && { historyLength }) };
    const task = await session.answered(client.getTask(request, call));
    new Output(session, { isStream }).task(
      task,
      historyLength === undefined ? {} : { withHistory: true },
    );
  });
}

/** The one argument that a command about a task has, or the setting. */
export function taskIdOf({ choices: { operands, setting } }: Session): string {
  const [id = setting('task-id'), ...rest] = operands;
  if (id === undefined) throw usage('which task? Give its id');
  if (rest.length > 0) throw usage(`one task at a time; ${rest.join(' ')} is too much`);
  return id;
}
