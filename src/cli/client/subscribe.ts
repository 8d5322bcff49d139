import { LegateError } from '../../protocol/index.ts';
import type { SubscribeCommandOptions } from '../commands/subscribe.ts';
import { Progress } from '../progress.ts';
import { throughAuthorization } from './authorization.ts';
import { calling } from './calling.ts';
import { isOn } from './choices.ts';
import { follow } from './following.ts';
import { taskIdOf } from './get.ts';
import { Output } from './output.ts';

/** Follows a task until it ends or asks for something. */
export async function subscribe(
  operands: readonly string[],
  options: SubscribeCommandOptions,
): Promise<void> {
  await calling(options, operands, async (session) => {
    const id = taskIdOf(session);
    const { timeoutMs } = session.choices;
    const { lastEventId, stream: isStream = false } = options;
    const client = await session.connect();
    const output = new Output(session);
    if (client.card.capabilities.streaming !== true) {
      session.warn('the agent does not stream; it is asked again and again instead');
    }
    using progress = new Progress('Waiting for the task');
    const events = client.subscribeToTask(id, {
      signal: session.signal,
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(lastEventId !== undefined && { lastEventId }),
    });
    const awaitsAuthorization = options.awaitAuth ?? isOn(session.choices.setting('await-auth'));
    const all = awaitsAuthorization ? throughAuthorization(events, client, session) : events;
    const result = await follow(all, {
      awaitsAuthorization,
      onEvent: (response, task) => {
        progress.clear();
        // Now it is known to be there.
        session.waitsFor(id);
        if (isStream) output.event(response);
        if (task !== undefined) progress.say(`Waiting for the task: ${task.status.state}`);
      },
    });
    progress.clear();
    if (!('task' in result)) {
      throw new LegateError('PEER_INVALID', `the agent answered with a message about task ${id}`);
    }
    const { task } = result;
    if (!isStream) return output.task(task);
    output.endStream(task);
  });
}
