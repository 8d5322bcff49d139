/**
 * A2A 0.3 in its JSON-RPC form. The decoders also accept the spelling of the 0.3 proto.
 *
 * Lost when the model is encoded to 0.3, and so not restored by decoding:
 * - `filename` and `mediaType` of text and data parts (file parts keep both)
 * - `tenant`, everywhere, and the `taskId` of a push configuration that comes with a message
 * - a role that is unspecified is written as the user's
 * - `returnImmediately: false` and an empty `configuration`, which mean the same as their absence
 * - `nextPageToken`, `pageSize` and `pageToken` of push configurations: 0.3 lists all of them at once
 * - a `data` value that is not an object is wrapped as `{ value }` and marked in the part's metadata;
 *   reading unwraps it, so only an empty `metadata` on such a part is lost. An object `{ value }`
 *   that already has the mark cannot be distinguished from a wrapped value.
 *
 * Lost when 0.3 is decoded to the model: `final` (1.x closes the stream instead), all authentication
 * schemes of a push configuration but the first, and `metadata` of requests that read.
 *
 * Cards are encoded as a superset that both versions can read, and lose nothing.
 */
import { requiredId } from '../../decode/scalars.ts';
import { codec } from '../codec.ts';
import type { Dialect } from '../dialect.ts';
import { codecsOf } from './codecs.ts';
import { roleName, stateName } from './names.ts';
import * as push from './push.ts';
import { encodePart, shape } from './shape.ts';

/** The 0.3 dialect of JSON-RPC. */
export const v03: Dialect = {
  ...codecsOf({
    shape,
    isProto: false,
    readTaskId: (reader, wire) => requiredId(reader, wire.id, 'id'),
    taskReference: (id) => ({ id }),
    encodePart,
    encodeState: stateName,
    encodeMessage: (message, parts) => ({
      ...message,
      kind: 'message',
      role: roleName(message.role),
      parts,
    }),
  }),
  taskPushNotificationConfig: codec(push.readPushConfig, push.encodePushConfig),
  getTaskPushNotificationConfigRequest: codec(push.readGetPushConfig, push.encodePushConfigId),
  listTaskPushNotificationConfigsRequest: codec(
    (reader, wire) => ({ taskId: requiredId(reader, wire.id, 'id') }),
    ({ taskId }) => ({ id: taskId }),
  ),
  listTaskPushNotificationConfigsResponse: {
    decode: push.decodePushConfigs,
    encode: (value) => value.configs.map(push.encodePushConfig),
  },
  deleteTaskPushNotificationConfigRequest: codec(
    push.readDeletePushConfig,
    push.encodePushConfigId,
  ),
};
