import type { Kind, Shape } from '../../decode/shape.ts';
import type { Reader, Wire } from '../../decode/reader.ts';
import type {
  Artifact,
  Message,
  Part,
  StreamResponse,
  Task,
  TaskState,
  TaskStatus,
} from '../../model.ts';
import type { SendMessageRequest, SendMessageResponse } from '../../request-model.ts';
import { encodePushDetails } from './push.ts';

/** The differences between the two forms of 0.3: JSON-RPC, and REST, which is ProtoJSON. */
export interface Form {
  readonly shape: Shape;
  /** Reads the id of the task that a request refers to. */
  readonly readTaskId: (reader: Reader, wire: Wire) => string;
  readonly taskReference: (taskId: string) => object;
  readonly encodePart: (part: Part) => object;
  readonly encodeState: (state: TaskState) => string;
  readonly encodeMessage: (message: Message, parts: readonly object[]) => object;
  /**
   * ProtoJSON wraps tasks, messages and events in a member of their name. JSON-RPC puts a `kind` in them.
   */
  readonly isProto: boolean;
}

/** Encoders of one form. */
export function encodersOf(form: Form) {
  const message = (value: Message): object =>
    form.encodeMessage(value, value.parts.map(form.encodePart));
  const artifact = (value: Artifact): object => ({
    ...value,
    parts: value.parts.map(form.encodePart),
  });
  const status = (value: TaskStatus): object => {
    const state = form.encodeState(value.state);
    if (value.message === undefined) return { ...value, state };
    return { ...value, state, message: message(value.message) };
  };
  const kind = (name: Kind) => !form.isProto && { kind: name };
  const task = (value: Task): object => ({
    ...value,
    ...kind('task'),
    status: status(value.status),
    ...(value.artifacts && { artifacts: value.artifacts.map(artifact) }),
    ...(value.history && { history: value.history.map(message) }),
  });
  const wrapped = (member: string, value: object): object =>
    form.isProto ? { [member]: value } : value;
  const sendMessageResponse = (response: SendMessageResponse): object =>
    'task' in response
      ? wrapped('task', task(response.task))
      : wrapped('message', message(response.message));
  const streamResponse = (response: StreamResponse, final: boolean): object => {
    if ('statusUpdate' in response) {
      const event = response.statusUpdate;
      const value = { ...event, ...kind('status-update'), status: status(event.status), final };
      return wrapped('statusUpdate', value);
    }
    if ('artifactUpdate' in response) {
      const event = response.artifactUpdate;
      const value = { ...event, ...kind('artifact-update'), artifact: artifact(event.artifact) };
      return wrapped('artifactUpdate', value);
    }
    return sendMessageResponse(response);
  };
  const sendMessageRequest = (request: SendMessageRequest): object => {
    // Over REST, servers read a missing configuration as `blocking: false`: an absent boolean of the
    // proto.
    const { configuration = form.isProto ? {} : undefined, metadata } = request;
    const pushMember = form.isProto ? 'pushNotification' : 'pushNotificationConfig';
    const {
      returnImmediately = false,
      taskPushNotificationConfig: push,
      ...rest
    } = configuration ?? {};
    return {
      message: message(request.message),
      ...(configuration && {
        configuration: {
          ...rest,
          // Always written: servers have different defaults.
          blocking: !returnImmediately,
          ...(push && { [pushMember]: encodePushDetails(push) }),
        },
      }),
      ...(metadata && { metadata }),
    };
  };
  return { message, task, sendMessageResponse, streamResponse, sendMessageRequest };
}
