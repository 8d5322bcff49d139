import {
  type AgentCard,
  isJsonObject,
  isTerminal,
  taskIdsOf,
  type TaskState,
  taskStatusOf,
  type JsonObject,
  LegateError,
  message,
  type SendMessageRequest,
  type StreamResponse,
  type Task,
} from '../../protocol/index.ts';
import { type Check, skip } from './finding.ts';
import type { Answer } from './probe.ts';
import { overHttp, type Speaker, type Spoken, unlessDeclined } from './speaker.ts';

/** One interface of an agent, and the results of the messages sent to it. */
export interface InterfaceSubject {
  readonly speaker: Speaker;
  readonly card: AgentCard;
  /** The text of the test messages. */
  readonly text: string;
  /** The task that the first message created. */
  task?: Task;
}

/** Encodes the test message strictly in the version of the interface. */
export function sendRequest({
  speaker,
  text,
}: InterfaceSubject): Readonly<Record<string, unknown>> {
  const request: SendMessageRequest = { message: message(text) };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- requests are objects
  return speaker.dialect.sendMessageRequest.encode(request) as Readonly<Record<string, unknown>>;
}

/** Describes an answer that is not a result. */
function failureText({ answer, error }: Spoken): string | undefined {
  unlessDeclined(error);
  if (error !== undefined) return `${error.code}: ${error.message}`;
  if (answer.json === undefined) return `HTTP ${answer.status} with a body that is not JSON`;
  return undefined;
}

function decoded<T>(decode: () => T): T | string {
  try {
    return decode();
  } catch (error) {
    if (!(error instanceof LegateError)) throw error;
    unlessDeclined(error);
    return `not as specified: ${error.message}`;
  }
}

export const operationChecks: readonly Check<InterfaceSubject>[] = [
  {
    id: 'operations.send',
    title: 'a message is answered with a task or a message',
    fix: 'answer with {"task": …} or {"message": …}, with every required field',
    run: async (subject) => {
      const { speaker } = subject;
      const spoken = await speaker.speak('sendMessage', sendRequest(subject));
      const failure = failureText(spoken);
      if (failure !== undefined) return failure;
      const result = decoded(() => speaker.dialect.sendMessageResponse.decode(spoken.result));
      if (typeof result === 'string') return result;
      if ('task' in result) subject.task = result.task;
      return undefined;
    },
  },
  {
    id: 'operations.envelope',
    title: 'answers carry the id of their request',
    fix: 'answer with the same id, of the same type',
    run: async ({ speaker }) => {
      if (speaker.binding !== 'JSONRPC') skip(`there are no request ids over ${speaker.binding}`);
      const http = overHttp(speaker);
      const method = speaker.version === '1.0' ? 'GetTask' : 'tasks/get';
      const body = { jsonrpc: '2.0', id: 4711, method, params: { id: 'no-such-task' } };
      const answer = await http.probe.send(http.post(JSON.stringify(body)));
      unlessDeclined(http.read(answer).error);
      const { json } = answer;
      if (!isJsonObject(json)) return 'the answer is not a JSON object';
      if (json['jsonrpc'] !== '2.0') return 'jsonrpc is not "2.0"';
      return json['id'] === 4711 ? undefined : `id 4711 came back as ${JSON.stringify(json['id'])}`;
    },
  },
  {
    id: 'operations.get',
    title: 'a task can be fetched',
    fix: 'keep tasks for as long as callers may fetch them by id',
    run: async (subject) => {
      const task = subject.task ?? skip('the message created no task');
      const { speaker } = subject;
      const spoken = await speaker.speak('getTask', { id: task.id });
      const failure = failureText(spoken);
      if (failure !== undefined) return failure;
      const found = decoded(() => speaker.dialect.task.decode(spoken.result));
      if (typeof found === 'string') return found;
      return found.id === task.id ? undefined : `asked for ${task.id}, got ${found.id}`;
    },
  },
  {
    id: 'operations.history-length',
    title: 'historyLength 0 leaves the history out',
    fix: 'send no history where historyLength is 0',
    run: async (subject) => {
      const task = subject.task ?? skip('the message created no task');
      const { speaker } = subject;
      if (speaker.version === '0.3') skip('0.3 does not say what 0 means');
      if (speaker.binding !== 'JSONRPC') skip('tried over JSON-RPC');
      const request = { id: task.id, historyLength: 0 };
      const { result } = await speaker.speak('getTask', request);
      const history = isJsonObject(result) ? result['history'] : undefined;
      return Array.isArray(history) && history.length > 0
        ? `with historyLength 0, history has ${history.length} messages`
        : undefined;
    },
  },
  {
    id: 'operations.list',
    title: 'tasks can be listed',
    fix: 'answer with tasks, at most as many as pageSize says',
    run: async ({ speaker }) => {
      const result = await listed(speaker);
      if (typeof result === 'string') return result;
      if (speaker.binding !== 'GRPC' && result['tasks'] === undefined) return 'tasks is missing';
      const page = decoded(() => speaker.dialect.listTasksResponse.decode(result));
      if (typeof page === 'string') return page;
      return page.tasks.length <= 1 ? undefined : `pageSize 1 gave ${page.tasks.length} tasks`;
    },
  },
  {
    id: 'operations.list-fields',
    title: 'a list of tasks has every required field',
    fix: 'answer with nextPageToken (empty at the end), pageSize and totalSize',
    run: async ({ speaker }) => {
      // Protobuf has no missing fields: an unset field is empty.
      if (speaker.binding === 'GRPC') skip('not of GRPC');
      const result = await listed(speaker);
      if (typeof result === 'string') skip('tasks cannot be listed');
      const names = ['nextPageToken', 'pageSize', 'totalSize'];
      const missing = names.find((name) => result[name] === undefined);
      return missing === undefined ? undefined : `${missing} is missing`;
    },
  },
];

/** The checks of the streams of one interface. */
export interface StreamSubject extends InterfaceSubject {
  answer?: Answer;
  events?: readonly StreamResponse[];
}

export const streamChecks: readonly Check<StreamSubject>[] = [
  {
    id: 'streaming.opens',
    title: 'a stream opens',
    fix: 'answer 200 with Content-Type: text/event-stream, over gRPC with a stream of events',
    run: async (subject) => {
      if (subject.card.capabilities.streaming !== true) skip('the card offers no streaming');
      const { speaker } = subject;
      const spoken = await speaker.speak('sendStreamingMessage', sendRequest(subject));
      subject.answer = spoken.answer;
      if (spoken.answer.events !== undefined) return undefined;
      return failureText(spoken) ?? 'the answer is not an event stream';
    },
  },
  {
    id: 'streaming.events',
    title: 'every event is one of the four kinds, and complete',
    fix: 'send one StreamResponse an event, with every required field',
    run: (subject) => {
      const { speaker } = subject;
      const events = subject.answer?.events ?? skip('no stream opened');
      const responses: StreamResponse[] = [];
      for (const [index, { data }] of events.entries()) {
        const event = decoded(() => speaker.dialect.streamResponse.decode(speaker.eventOf(data)));
        if (typeof event === 'string') return `event ${index + 1} is ${event}`;
        responses.push(event);
      }
      subject.events = responses;
      return responses.length > 0 ? undefined : 'there was no event';
    },
  },
  {
    id: 'streaming.first',
    title: 'a stream starts with the task, or is one message',
    fix: 'send the task first, before any update of it',
    run: ({ events, speaker }) => {
      const first = (events ?? skip('there are no events to check'))[0];
      if (speaker.version === '0.3') skip('0.3 does not specify it');
      if (first === undefined || 'task' in first || 'message' in first) return undefined;
      return `it starts with ${Object.keys(first)[0] ?? 'nothing'}`;
    },
  },
  {
    id: 'streaming.one-task',
    title: 'all events are of one task and context',
    fix: 'give every event the ids of the task that the stream started with',
    run: ({ events }) => {
      const ids = (events ?? skip('there are no events to check')).map(taskIdsOf);
      const tasks = new Set(
        ids.flatMap((each) => (each === undefined ? [] : [`${each.taskId} ${each.contextId}`])),
      );
      return tasks.size <= 1 ? undefined : `there are events of ${tasks.size} tasks or contexts`;
    },
  },
  {
    id: 'streaming.ends',
    title: 'a stream closes when its task ends',
    fix: 'close the stream after the event with the terminal state',
    run: ({ events, answer }) => {
      const last = (events ?? skip('there are no events to check')).findLast(
        (event) => 'statusUpdate' in event || 'task' in event || 'message' in event,
      );
      const state = last && stateOf(last);
      if (state !== undefined && !isTerminal(state)) skip(`the last event says ${state}`);
      if (last === undefined) skip('no event has the state of the task');
      return answer?.isComplete === true
        ? undefined
        : `the last event says ${state ?? 'message'}, and the stream stayed open`;
    },
  },
  {
    id: 'streaming.single-line',
    title: 'each event is one line of data',
    fix: 'write the JSON of an event without line breaks: many clients read line by line',
    run: ({ answer, speaker }) => {
      overHttp(speaker);
      const text = answer?.events === undefined ? skip('no stream opened') : answer.text;
      return /^data:.*\r?\ndata:/m.test(text) ? 'an event has several data lines' : undefined;
    },
  },
  {
    id: 'streaming.not-cached',
    title: 'streams are kept out of caches',
    fix: 'answer with Cache-Control: no-cache',
    run: ({ answer, speaker }) => {
      overHttp(speaker);
      const headers = answer?.events === undefined ? skip('no stream opened') : answer.headers;
      const value = headers.get('Cache-Control') ?? 'none';
      return /no-cache|no-store/.test(value) ? undefined : `Cache-Control is ${value}`;
    },
  },
  {
    id: 'streaming.unknown-task',
    title: 'subscribing to an unknown task is TaskNotFoundError',
    fix: 'answer -32001, over HTTP+JSON 404, over gRPC NOT_FOUND',
    run: async (subject) => {
      const { error } = await subscribed(subject, 'no-such-task');
      return error?.code === 'TASK_NOT_FOUND' ? undefined : described(error);
    },
  },
  {
    id: 'streaming.refused-early',
    title: 'an error before the first event is not sent as an event stream',
    fix: 'check the task before sending the headers of a stream',
    run: async (subject) => {
      if (subject.speaker.version === '0.3') skip('in 0.3 the errors of streams are events');
      const { isStream } = await subscribed(subject, 'no-such-task');
      return isStream
        ? 'subscribing to an unknown task is answered with an event stream'
        : undefined;
    },
  },
  {
    id: 'streaming.terminal',
    title: 'subscribing to a task that has ended is UnsupportedOperationError',
    fix: 'answer UnsupportedOperationError where the task is in a terminal state',
    run: async (subject) => {
      if (subject.speaker.version === '0.3') skip('0.3 does not specify it');
      const { id, status } = await endedTask(subject);
      const { error } = await subscribed(subject, id);
      if (error?.code === 'UNSUPPORTED_OPERATION') return undefined;
      return `the task is ${status.state}: ${described(error)}`;
    },
  },
  {
    id: 'streaming.undeclared',
    title: 'an agent without streaming refuses stream requests',
    fix: 'answer UnsupportedOperationError where capabilities.streaming is not true',
    run: async (subject) => {
      if (subject.card.capabilities.streaming === true) skip('the card offers streaming');
      if (subject.speaker.version === '0.3') skip('0.3 does not specify it');
      const { answer, error } = await subject.speaker.speak(
        'sendStreamingMessage',
        sendRequest(subject),
        { isEnough: (events) => events.length > 0 },
      );
      if (answer.events !== undefined)
        return 'SendStreamingMessage is answered with an event stream: declare streaming';
      const isRefused =
        error?.code === 'UNSUPPORTED_OPERATION' || error?.code === 'METHOD_NOT_FOUND';
      return isRefused ? undefined : described(error);
    },
  },
];

/** Subscribes to a task. The error is the response itself, or the first event of a stream. */
async function subscribed(
  { card, speaker }: InterfaceSubject,
  id: string,
): Promise<{ readonly isStream: boolean; readonly error?: LegateError }> {
  if (card.capabilities.streaming !== true) skip('the card offers no streaming');
  const { answer, error } = await speaker.speak(
    'subscribeToTask',
    { id },
    { isEnough: (events) => events.length > 0 },
  );
  const isStream = answer.events !== undefined;
  if (error !== undefined) return { isStream, error };
  const [first] = answer.events ?? [];
  try {
    if (first !== undefined) speaker.eventOf(first.data);
  } catch (thrown) {
    if (thrown instanceof LegateError) return { isStream, error: thrown };
  }
  return { isStream };
}

function described(error: LegateError | undefined): string {
  unlessDeclined(error);
  return error === undefined ? 'the answer is not an error' : `the error is ${error.code}`;
}

/** The first page of the list of tasks, or a description of the actual answer. */
async function listed(speaker: Speaker): Promise<JsonObject | string> {
  if (speaker.version !== '1.0') skip('0.3 has no list');
  const spoken = await speaker.speak('listTasks', { pageSize: 1 });
  const failure = failureText(spoken);
  if (failure !== undefined) return failure;
  return isJsonObject(spoken.result) ? spoken.result : 'the answer is not an object';
}

/** The task of the first message, if it has ended. */
export async function endedTask(subject: InterfaceSubject): Promise<Task> {
  const task = subject.task ?? skip('the message created no task');
  const { speaker } = subject;
  const { result } = await speaker.speak('getTask', { id: task.id });
  const now = decoded(() => speaker.dialect.task.decode(result));
  if (typeof now === 'string' || !isTerminal(now.status.state)) skip('the task has not ended');
  return now;
}

function stateOf(event: StreamResponse): TaskState | undefined {
  return taskStatusOf(event)?.state;
}
