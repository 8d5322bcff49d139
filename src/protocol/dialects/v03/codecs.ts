import { readCard } from '../../card/read.ts';
import { supersetCard } from '../../card/superset.ts';
import { readMessage } from '../../decode/message.ts';
import { readTask } from '../../decode/task.ts';
import { optionalStruct } from '../../decode/values.ts';
import { codec } from '../codec.ts';
import type { Dialect } from '../dialect.ts';
import { listTasksReader, listTasksResponseReader, readHistoryLength } from '../v1/requests.ts';
import { encodersOf, type Form } from './form.ts';
import { readPayload, readResponse } from './payload.ts';
import { readSendMessage } from './requests.ts';

type PushCodecs = Extract<keyof Dialect, `${string}PushNotificationConfig${string}`>;

/** All codecs of a form except those of push configurations, which the two forms identify differently. */
export function codecsOf(form: Form): Omit<Dialect, PushCodecs> {
  const { shape, readTaskId, taskReference } = form;
  const encode = encodersOf(form);
  return {
    version: '0.3',
    message: codec((reader, wire) => readMessage(reader, wire, shape), encode.message),
    task: codec((reader, wire) => readTask(reader, wire, shape), encode.task),
    sendMessageResponse: codec(
      (reader, wire) => readResponse(reader, wire, shape),
      encode.sendMessageResponse,
    ),
    streamResponse: codec(
      (reader, wire) => readPayload(reader, wire, shape),
      encode.streamResponse,
    ),
    // Peers serve and read cards in the JSON-RPC form over REST, too.
    agentCard: codec(readCard, supersetCard),

    sendMessageRequest: codec(
      (reader, wire) => readSendMessage(reader, wire, shape),
      encode.sendMessageRequest,
    ),
    getTaskRequest: codec(
      (reader, wire) => {
        const id = readTaskId(reader, wire);
        const historyLength = readHistoryLength(reader, wire);
        return historyLength === undefined ? { id } : { id, historyLength };
      },
      ({ id, historyLength }) => ({
        ...taskReference(id),
        ...(historyLength !== undefined && { historyLength }),
      }),
    ),
    // 0.3 has no such operation: the 1.x request and response, with the values spelled as in 0.3.
    listTasksRequest: codec(listTasksReader(shape), (request) => {
      const { tenant: _, status, ...rest } = request;
      return { ...rest, ...(status && { status: form.encodeState(status) }) };
    }),
    listTasksResponse: codec(listTasksResponseReader(shape), (value) => ({
      ...value,
      tasks: value.tasks.map(encode.task),
    })),
    cancelTaskRequest: codec(
      (reader, wire) => {
        const id = readTaskId(reader, wire);
        const metadata = optionalStruct(reader, wire.metadata, 'metadata');
        return metadata === undefined ? { id } : { id, metadata };
      },
      ({ id, metadata }) => ({
        ...taskReference(id),
        // The proto has no metadata here.
        ...(metadata && !form.isProto && { metadata }),
      }),
    ),
    subscribeToTaskRequest: codec(
      (reader, wire) => ({ id: readTaskId(reader, wire) }),
      ({ id }) => taskReference(id),
    ),
    getExtendedAgentCardRequest: codec(
      () => ({}),
      () => ({}),
    ),
  };
}
