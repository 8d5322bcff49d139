import {
  type JsonObject,
  message,
  parseJson,
  type SendMessageRequest,
} from '../../protocol/index.ts';
import type { PartFlag, SendCommandOptions } from '../commands/send.ts';
import { Progress } from '../progress.ts';
import { throughAuthorization } from './authorization.ts';
import { calling } from './calling.ts';
import { isOn, usage } from './choices.ts';
import { follow } from './following.ts';
import { Output } from './output.ts';
import { partsOf } from './parts.ts';
import type { Session } from './session.ts';

/** Sends a message, and shows what comes of it. */
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
    const patience = timeoutMs === undefined ? {} : { timeoutMs };
    if (isAsync(session, options)) {
      const configuration = { ...request.configuration, returnImmediately: true };
      output.response(
        await client.sendMessage({ ...request, configuration }, { signal, ...patience }),
      );
      return;
    }
    const isStream = options.stream === true;
    if (isStream && client.card.capabilities.streaming !== true) {
      session.warn('the agent does not stream; it is asked again and again instead');
    }
    using progress = new Progress('Waiting for the agent');
    const events = client.sendStreamingMessage(request, { signal, ...patience });
    const awaitsAuthorization = options.awaitAuth ?? isOn(session.choices.setting('await-auth'));
    const all = awaitsAuthorization ? throughAuthorization(events, client, session) : events;
    const result = await follow(all, {
      isAnswer: request.message.taskId !== undefined,
      awaitsAuthorization,
      onEvent: (response, task) => {
        progress.clear();
        if (isStream) output.event(response);
        if (task === undefined) return;
        session.waitsFor(task.id);
        progress.say(`Waiting for the agent: ${task.status.state}`);
      },
    });
    progress.clear();
    if (!isStream) {
      output.response(result, shown);
    } else if ('task' in result) {
      output.endStream(result.task);
    }
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
      ...(options.messageId !== undefined && { messageId: options.messageId }),
      ...(contextId !== undefined && { contextId }),
      ...(taskId !== undefined && { taskId }),
      ...(metadata !== undefined && { metadata }),
    }),
    ...(metadata !== undefined && { metadata }),
    ...(history !== undefined && { configuration: { historyLength: history } }),
  };
}

export function historyOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const count = Number(text);
  if (Number.isSafeInteger(count) && count >= 0 && text.trim() !== '') return count;
  throw usage(`--history ${text} is no count of messages`);
}

export function metadataOf(text: string | undefined): JsonObject | undefined {
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    value = undefined;
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as JsonObject;
  }
  throw usage('--metadata must be a JSON object, for instance \'{"key":"value"}\'');
}
