import { present } from '../../config/index.ts';
import { message, type SendMessageRequest } from '../../protocol/index.ts';
import type { PartFlag, SendCommandOptions } from '../commands/agents.ts';
import { calling } from './calling.ts';
import { historyOf, isOn, metadataOf } from './choices.ts';
import { Output } from './output.ts';
import { partsOf } from './parts.ts';
import type { Session } from './session.ts';
import { followed, notStreaming } from './tasks.ts';

/** Sends a message and prints the result. */
export async function send(
  words: readonly string[],
  flags: readonly PartFlag[],
  options: SendCommandOptions,
): Promise<void> {
  await calling(options, words, async (session) => {
    const request = await requestOf(session, flags, options);
    const client = await session.connect();
    const output = new Output(session);
    const { signal } = session;
    const { timeoutMs } = session.choices;
    const shown = request.configuration === undefined ? {} : { withHistory: true };
    const limits = timeoutMs === undefined ? {} : { timeoutMs };
    if (isAsync(session, options)) {
      const configuration = { ...request.configuration, returnImmediately: true };
      output.response(
        await client.sendMessage({ ...request, configuration }, { signal, ...limits }),
      );
      return;
    }
    const isStream = options.stream === true;
    if (isStream && client.card.capabilities.streaming !== true) {
      session.warn(notStreaming);
    }
    const events = client.sendStreamingMessage(request, { signal, ...limits });
    const isAnswer = request.message.taskId !== undefined;
    const what = 'agent';
    const result = await followed(events, { session, client, options, output, what, isAnswer });
    if (!isStream) output.response(result, shown);
    else if ('task' in result) output.endStream(result.task);
  });
}

function isAsync({ choices }: Session, options: SendCommandOptions): boolean {
  if (options.async === true || options.wait === false) return true;
  return options.wait !== true && options.stream !== true && isOn(choices.setting('async'));
}

async function requestOf(
  session: Session,
  flags: readonly PartFlag[],
  options: SendCommandOptions,
): Promise<SendMessageRequest> {
  const { operands, setting } = session.choices;
  const contextId = options.contextId ?? setting('context-id');
  const taskId = options.taskId ?? setting('task-id');
  const metadata = metadataOf(options.metadata ?? setting('metadata'));
  const history = historyOf(options.history ?? setting('history'));
  return {
    message: message(await partsOf(operands, flags), {
      ...present({ messageId: options.messageId, contextId, taskId, metadata }),
    }),
    ...(metadata !== undefined && { metadata }),
    ...(history !== undefined && { configuration: { historyLength: history } }),
  };
}
