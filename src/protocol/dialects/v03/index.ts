/**
 * A2A 0.3 as its JSON-RPC form spells it. Reading also takes the spelling of the 0.3 proto.
 *
 * Lost on the way from the model to 0.3, and so not there after the way back:
 * - `filename` and `mediaType` of text and data parts; those of files are kept
 * - `tenant`, everywhere, and the `taskId` of a push configuration that comes with a message
 * - a role that is unspecified is written as the user's
 * - `returnImmediately: false` and an empty `configuration`, which mean the same as their absence
 * - `nextPageToken`, `pageSize` and `pageToken` of push configurations: 0.3 lists all of them at once
 * - a `data` value that is no object is wrapped as `{ value }` and marked in the part's metadata;
 *   reading unwraps it, so only an empty `metadata` on such a part is lost. An object `{ value }`
 *   that already bears the mark cannot be told from a wrapped value.
 *
 * From 0.3 to the model: `final` (1.x says it by closing the stream), all but the first of a push
 * configuration's authentication schemes, and `metadata` of requests that read.
 *
 * Cards are written as a superset that both versions can read, and lose nothing.
 */
import { readCard } from '../../card/read.ts';
import { supersetCard } from '../../card/superset.ts';
import { readMessage } from '../../decode/message.ts';
import { readTask } from '../../decode/task.ts';
import { codec } from '../codec.ts';
import type { Dialect } from '../dialect.ts';
import { readListTasks, readListTasksResponse } from '../v1/requests.ts';
import * as encode from './encode.ts';
import { readPayload, readResponse } from './payload.ts';
import * as push from './push.ts';
import * as requests from './requests.ts';
import { shape } from './shape.ts';

/**
 * The 0.3 dialect of JSON-RPC.
 * @example const wire = v03.task.encode(task);
 */
export const v03: Dialect = {
  version: '0.3',
  message: codec((reader, wire) => readMessage(reader, wire, shape), encode.encodeMessage),
  task: codec((reader, wire) => readTask(reader, wire, shape), encode.encodeTask),
  sendMessageResponse: codec(
    (reader, wire) => readResponse(reader, wire, shape),
    encode.encodeSendMessageResponse,
  ),
  streamResponse: codec(
    (reader, wire) => readPayload(reader, wire, shape),
    encode.encodeStreamResponse,
  ),
  agentCard: codec(readCard, supersetCard),

  sendMessageRequest: codec(
    (reader, wire) => requests.readSendMessage(reader, wire, shape),
    requests.encodeSendMessage,
  ),
  getTaskRequest: codec(requests.readGetTask, requests.withoutTenant),
  // No part of 0.3: the 1.x request and response with 0.3's spelling inside.
  listTasksRequest: codec(
    (reader, wire) => readListTasks(reader, wire, shape),
    requests.encodeListTasks,
  ),
  listTasksResponse: codec(
    (reader, wire) => readListTasksResponse(reader, wire, shape),
    (value) => ({ ...value, tasks: value.tasks.map(encode.encodeTask) }),
  ),
  cancelTaskRequest: codec(requests.readCancelTask, requests.withoutTenant),
  subscribeToTaskRequest: codec(requests.readSubscribe, requests.withoutTenant),
  taskPushNotificationConfig: codec(push.readPushConfig, push.encodePushConfig),
  getTaskPushNotificationConfigRequest: codec(push.readGetPushConfig, push.encodePushConfigId),
  listTaskPushNotificationConfigsRequest: codec(push.readListPushConfigs, (value) => ({
    id: value.taskId,
  })),
  listTaskPushNotificationConfigsResponse: {
    decode: push.decodePushConfigs,
    encode: (value) => value.configs.map(push.encodePushConfig),
  },
  deleteTaskPushNotificationConfigRequest: codec(
    push.readDeletePushConfig,
    push.encodePushConfigId,
  ),
  getExtendedAgentCardRequest: codec(
    () => ({}),
    () => ({}),
  ),
};
