/**
 * A2A 1.x in JSON. The model has the spelling of this wire, so encoding is the identity. Only fields that
 * the model lacks are lost.
 */
import { readCard } from '../../card/read.ts';
import { readMessage } from '../../decode/message.ts';
import { readSendMessageResponse, readStreamResponse } from '../../decode/payload.ts';
import { readTask } from '../../decode/task.ts';
import { codec, identity } from '../codec.ts';
import type { Dialect } from '../dialect.ts';
import * as push from './push.ts';
import * as requests from './requests.ts';
import { shape } from './shape.ts';

/** The 1.x dialect, for JSON-RPC and REST alike. */
export const v1: Dialect = {
  version: '1.0',
  message: codec((reader, wire) => readMessage(reader, wire, shape), identity),
  task: codec((reader, wire) => readTask(reader, wire, shape), identity),
  sendMessageResponse: codec(
    (reader, wire) => readSendMessageResponse(reader, wire, shape),
    identity,
  ),
  streamResponse: codec((reader, wire) => readStreamResponse(reader, wire, shape), identity),
  agentCard: codec(readCard, identity),

  sendMessageRequest: codec(requests.readSendMessage, identity),
  getTaskRequest: codec(requests.readGetTask, identity),
  listTasksRequest: codec(requests.listTasksReader(shape), identity),
  listTasksResponse: codec(requests.listTasksResponseReader(shape), identity),
  cancelTaskRequest: codec(requests.readCancelTask, identity),
  subscribeToTaskRequest: codec(requests.readSubscribe, identity),
  taskPushNotificationConfig: codec(push.readPushConfig, identity),
  getTaskPushNotificationConfigRequest: codec(push.readPushConfigId, identity),
  listTaskPushNotificationConfigsRequest: codec(push.readListPushConfigs, identity),
  listTaskPushNotificationConfigsResponse: codec(push.readListPushConfigsResponse, identity),
  deleteTaskPushNotificationConfigRequest: codec(push.readPushConfigId, identity),
  getExtendedAgentCardRequest: codec(requests.readExtendedCard, identity),
};
