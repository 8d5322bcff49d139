/**
 * A2A 0.3 over REST: ProtoJSON of the 0.3 proto, which differs from the JSON-RPC form in nearly every
 * object. The decoders accept both forms. The encoders write ProtoJSON, with the fields `metadata` of a
 * part and `name` of a file that the proto gained after its tag.
 *
 * Lost, besides what `v03` loses:
 * - `referenceTaskIds` of a message and `metadata` of a cancel request: the proto lacks them
 * - the absence of a `configuration`: it is always written, with `blocking`
 *
 * Not lost: the paging of push configurations.
 */
import { codec } from '../codec.ts';
import type { Dialect } from '../dialect.ts';
import { codecsOf } from '../v03/codecs.ts';
import { type FileBytes, restShape } from '../v03/shape.ts';
import { encodePart } from './part.ts';
import * as push from './push.ts';
import { readTaskId, taskName } from './resource-name.ts';

function dialectOf(fileBytes: FileBytes): Dialect {
  return {
    ...codecsOf({
      shape: restShape(fileBytes),
      isProto: true,
      readTaskId,
      taskReference: (id) => ({ name: taskName(id) }),
      encodePart: (part) => encodePart(part, fileBytes),
      // The 0.3 proto has two Ls.
      encodeState: (state) => (state === 'TASK_STATE_CANCELED' ? 'TASK_STATE_CANCELLED' : state),
      encodeMessage: (message, content) => {
        const { parts: _, referenceTaskIds: __, ...rest } = message;
        return { ...rest, content };
      },
    }),
    taskPushNotificationConfig: codec(push.readPushConfig, push.encodePushConfig),
    getTaskPushNotificationConfigRequest: codec(push.readGetPushConfig, push.encodeConfigName),
    listTaskPushNotificationConfigsRequest: codec(push.readListPushConfigs, (request) => {
      const { tenant: _, taskId, ...paging } = request;
      return { parent: taskName(taskId), ...paging };
    }),
    listTaskPushNotificationConfigsResponse: codec(
      push.readListPushConfigsResponse,
      ({ configs, nextPageToken }) => ({
        configs: configs.map(push.encodePushConfig),
        ...(nextPageToken !== '' && { nextPageToken }),
      }),
    ),
    deleteTaskPushNotificationConfigRequest: codec(
      push.readDeletePushConfig,
      push.encodeConfigName,
    ),
  };
}

/** The 0.3 dialect of REST and gRPC. */
export const v03Rest = dialectOf('once');

/** The same for peers that encode the bytes of files in base64 twice. */
export const v03RestTwice = dialectOf('twice');
