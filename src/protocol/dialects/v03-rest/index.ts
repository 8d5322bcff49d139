/**
 * A2A 0.3 over REST: ProtoJSON of the 0.3 proto, which differs from the JSON-RPC form in nearly
 * every object. Reading takes either form; writing is ProtoJSON, with the fields `metadata` of a
 * part and `name` of a file that the proto gained after its tag.
 *
 * Lost, besides what `v03` loses:
 * - `referenceTaskIds` of a message and `metadata` of a cancel request: the proto lacks them
 * - the absence of a `configuration`: it is always written, with `blocking`
 *
 * Not lost: the paging of push configurations.
 */
import { readCard } from '../../card/read.ts';
import { supersetCard } from '../../card/superset.ts';
import { readMessage } from '../../decode/message.ts';
import { readTask } from '../../decode/task.ts';
import { optionalStruct } from '../../decode/values.ts';
import { codec } from '../codec.ts';
import type { Dialect } from '../dialect.ts';
import { readHistoryLength, readListTasks, readListTasksResponse } from '../v1/requests.ts';
import { readPayload, readResponse } from '../v03/payload.ts';
import { readSendMessage, withoutTenant } from '../v03/requests.ts';
import { restShape as shape } from '../v03/shape.ts';
import * as encode from './encode.ts';
import * as push from './push.ts';
import { readTaskId, taskName } from './resource-name.ts';

/**
 * The 0.3 dialect of REST.
 * @example const wire = v03Rest.task.encode(task);
 */
export const v03Rest: Dialect = {
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
  // Peers serve and read cards in the JSON-RPC form here too.
  agentCard: codec(readCard, supersetCard),

  sendMessageRequest: codec(
    (reader, wire) => readSendMessage(reader, wire, shape),
    encode.encodeSendMessage,
  ),
  getTaskRequest: codec(
    (reader, wire) => {
      const id = readTaskId(reader, wire);
      const historyLength = readHistoryLength(reader, wire);
      return historyLength === undefined ? { id } : { id, historyLength };
    },
    ({ id, historyLength }) => ({
      name: taskName(id),
      ...(historyLength !== undefined && { historyLength }),
    }),
  ),
  // No part of 0.3: the 1.x request and response with 0.3's spelling inside.
  listTasksRequest: codec(
    (reader, wire) => readListTasks(reader, wire, shape),
    ({ status, ...rest }) => ({
      ...withoutTenant(rest),
      ...(status && { status: encode.encodeState(status) }),
    }),
  ),
  listTasksResponse: codec(
    (reader, wire) => readListTasksResponse(reader, wire, shape),
    (value) => ({ ...value, tasks: value.tasks.map(encode.encodeTask) }),
  ),
  cancelTaskRequest: codec(
    (reader, wire) => {
      const id = readTaskId(reader, wire);
      const metadata = optionalStruct(reader, wire.metadata, 'metadata');
      return metadata === undefined ? { id } : { id, metadata };
    },
    ({ id }) => ({ name: taskName(id) }),
  ),
  subscribeToTaskRequest: codec(
    (reader, wire) => ({ id: readTaskId(reader, wire) }),
    ({ id }) => ({ name: taskName(id) }),
  ),
  taskPushNotificationConfig: codec(push.readPushConfig, push.encodePushConfig),
  getTaskPushNotificationConfigRequest: codec(push.readGetPushConfig, push.encodeConfigName),
  listTaskPushNotificationConfigsRequest: codec(
    push.readListPushConfigs,
    push.encodeListPushConfigs,
  ),
  listTaskPushNotificationConfigsResponse: codec(
    push.readListPushConfigsResponse,
    push.encodeListPushConfigsResponse,
  ),
  deleteTaskPushNotificationConfigRequest: codec(push.readDeletePushConfig, push.encodeConfigName),
  getExtendedAgentCardRequest: codec(
    () => ({}),
    () => ({}),
  ),
};
