import { type ErrorCode, errorTable } from '../../protocol/index.ts';
import { type Check, skip } from './finding.ts';
import { endedTask, type InterfaceSubject, sendRequest } from './operation-checks.ts';
import {
  type HttpSpeaker,
  overHttp,
  type Speaker,
  type Spoken,
  unlessDeclined,
} from './speaker.ts';

/** Undefined when the error is one of the expected ones; else a description of the actual answer. */
function expects(
  { error, answer, code }: Spoken,
  codes: readonly ErrorCode[],
  { binding }: Speaker,
): string | undefined {
  unlessDeclined(error);
  if (error !== undefined && codes.includes(error.code)) return undefined;
  const isGrpc = binding === 'GRPC';
  if (error !== undefined) {
    return `the error is ${error.code}${isGrpc ? '' : ` (${code ?? answer.status})`}`;
  }
  if (isGrpc) return 'it is accepted';
  return answer.json === undefined
    ? `HTTP ${answer.status} with a body that is not JSON`
    : `it is accepted (HTTP ${answer.status})`;
}

interface Refusal extends Omit<Check<InterfaceSubject>, 'run'> {
  readonly ask: (subject: InterfaceSubject) => Promise<Spoken>;
  readonly codes: readonly ErrorCode[];
}

/** A request that the agent must refuse with one of these errors. */
function refusal({ ask, codes, ...check }: Refusal): Check<InterfaceSubject> {
  return { ...check, run: async (subject) => expects(await ask(subject), codes, subject.speaker) };
}

const unknownTask = { id: 'no-such-task' };
const invalid: readonly ErrorCode[] = ['INVALID_PARAMS', 'INVALID_REQUEST'];

function onlyJsonRpc(speaker: Speaker): HttpSpeaker {
  return speaker.binding === 'JSONRPC' ? overHttp(speaker) : skip('of JSON-RPC alone');
}

function onlyRest(speaker: Speaker): HttpSpeaker {
  return speaker.binding === 'HTTP+JSON' ? overHttp(speaker) : skip('of HTTP+JSON alone');
}

async function detailsOf(speaker: HttpSpeaker): Promise<string | undefined> {
  const { answer, error } = await speaker.speak('getTask', unknownTask);
  unlessDeclined(error);
  return answer.text.includes('google.rpc.ErrorInfo') && answer.text.includes('TASK_NOT_FOUND')
    ? undefined
    : 'there is no ErrorInfo with the reason TASK_NOT_FOUND';
}

/** 0.3 specifies errors for invalid requests only over JSON-RPC. */
function onlyV1OrJsonRpc(speaker: Speaker): Speaker {
  const isSpecified = speaker.version === '1.0' || speaker.binding === 'JSONRPC';
  return isSpecified ? speaker : skip('0.3 specifies it for JSON-RPC alone');
}

function onlyV1({ speaker }: InterfaceSubject, why: string): Speaker {
  return speaker.version === '1.0' ? speaker : skip(why);
}

/** Sends this body to the endpoint for messages. */
async function posted(
  speaker: HttpSpeaker,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Spoken> {
  const path = speaker.version === '1.0' ? '/message:send' : '/v1/message:send';
  const request = speaker.post(body, speaker.binding === 'JSONRPC' ? '' : path);
  const answer = await speaker.probe.send({
    ...request,
    headers: { ...request.headers, ...headers },
  });
  return speaker.read(answer);
}

export const errorChecks: readonly Check<InterfaceSubject>[] = [
  refusal({
    id: 'errors.unknown-task',
    title: 'an unknown task is TaskNotFoundError',
    fix: 'answer -32001, over HTTP+JSON 404',
    ask: ({ speaker }) => speaker.speak('getTask', unknownTask),
    codes: ['TASK_NOT_FOUND'],
  }),
  refusal({
    id: 'errors.cancel-unknown',
    title: 'cancelling an unknown task is TaskNotFoundError',
    fix: 'answer -32001, over HTTP+JSON 404',
    ask: ({ speaker }) => speaker.speak('cancelTask', unknownTask),
    codes: ['TASK_NOT_FOUND'],
  }),
  refusal({
    id: 'errors.cancel-ended',
    title: 'cancelling a task that has ended is TaskNotCancelableError',
    fix: 'answer -32002, over HTTP+JSON 400',
    ask: async (subject) => {
      const { id } = await endedTask(subject);
      return subject.speaker.speak('cancelTask', { id });
    },
    codes: ['TASK_NOT_CANCELABLE'],
  }),
  {
    id: 'errors.details',
    title: 'errors name their reason in the details',
    fix: 'add google.rpc.ErrorInfo with reason and domain a2a-protocol.org',
    run: (subject) => detailsOf(onlyJsonRpc(onlyV1(subject, '0.3 has no details'))),
  },
  {
    id: 'errors.rest-details',
    title: 'errors over HTTP+JSON name their reason in the details',
    fix: 'add google.rpc.ErrorInfo with reason and domain a2a-protocol.org',
    run: (subject) => detailsOf(onlyRest(onlyV1(subject, '0.3 has no details'))),
  },
  refusal({
    id: 'errors.no-message',
    title: 'a send without a message is refused',
    fix: 'answer InvalidParams (-32602), over HTTP+JSON 400',
    ask: ({ speaker }) => onlyV1OrJsonRpc(speaker).speak('sendMessage', {}),
    codes: invalid,
  }),
  refusal({
    id: 'errors.empty-parts',
    title: 'a message without parts is refused',
    fix: 'answer InvalidParams: a message has at least one part',
    ask: (subject) => {
      onlyV1(subject, '0.3 does not specify it');
      const request = sendRequest(subject);
      // The method names of the version under test.
      const key = request['message'] === undefined ? 'request' : 'message';
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made by sendRequest
      const given = request[key] as Readonly<Record<string, unknown>>;
      const parts = 'content' in given ? 'content' : 'parts';
      return subject.speaker.speak('sendMessage', { ...request, [key]: { ...given, [parts]: [] } });
    },
    codes: invalid,
  }),
  {
    id: 'errors.json',
    title: 'invalid JSON is refused with a parse error',
    fix: 'answer -32700, over HTTP+JSON 400 with a JSON body',
    run: async ({ speaker }) => {
      const spoken = await posted(overHttp(onlyV1OrJsonRpc(speaker)), '{"jsonrpc": "2.0", ');
      const seen = expects(spoken, ['PARSE_ERROR', ...invalid], speaker);
      if (seen !== undefined || speaker.binding !== 'JSONRPC') return seen;
      return spoken.code === errorTable.PARSE_ERROR.jsonRpc
        ? undefined
        : `the code of the error is ${spoken.code ?? 'missing'}`;
    },
  },
  refusal({
    id: 'errors.unknown-method',
    title: 'an unknown method is refused with method not found',
    fix: 'answer -32601',
    ask: async (subject) => {
      const speaker = onlyJsonRpc(subject.speaker);
      return speaker.read(await speaker.probe.send(speaker.envelope('NoSuchMethod', {})));
    },
    codes: ['METHOD_NOT_FOUND'],
  }),
  refusal({
    id: 'errors.not-json-rpc',
    title: 'a request without jsonrpc "2.0" is refused',
    fix: 'answer -32600',
    ask: async ({ speaker }) => {
      const method = speaker.version === '1.0' ? 'GetTask' : 'tasks/get';
      const body = JSON.stringify({ id: 1, method, params: { id: 'x' } });
      return posted(onlyJsonRpc(speaker), body);
    },
    codes: ['INVALID_REQUEST'],
  }),
  refusal({
    id: 'errors.batch',
    title: 'a batch of requests is refused',
    fix: 'answer -32600: A2A has no batches',
    ask: async ({ speaker }) => posted(onlyJsonRpc(speaker), '[]'),
    codes: ['INVALID_REQUEST'],
  }),
  {
    id: 'errors.content-type',
    title: 'a body that says it is not JSON is refused',
    fix: 'refuse another Content-Type than JSON',
    run: async (subject) => {
      const speaker = overHttp(onlyV1(subject, '0.3 does not specify it'));
      // Only the header is invalid, so that the agent can't refuse the request for another reason.
      const request = sendRequest(subject);
      const body =
        speaker.binding === 'JSONRPC'
          ? { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: request }
          : request;
      const { answer, error } = await posted(speaker, JSON.stringify(body), {
        'Content-Type': 'text/plain',
      });
      return error === undefined && answer.status < 400
        ? `a message as text/plain is answered with HTTP ${answer.status} and no error`
        : undefined;
    },
  },
  refusal({
    id: 'errors.version',
    title: 'an unknown version is refused',
    fix: 'answer VersionNotSupportedError (-32009) when A2A-Version is not supported',
    ask: async (subject) =>
      onlyV1(subject, '0.3 has no versions').speak('getTask', unknownTask, {
        headers: { 'A2A-Version': '99.0' },
      }),
    codes: ['VERSION_NOT_SUPPORTED'],
  }),
  refusal({
    id: 'errors.patch-version',
    title: 'the patch level of a version is ignored',
    fix: 'take 1.0.5 for 1.0',
    ask: async (subject) =>
      onlyV1(subject, '0.3 has no versions').speak('getTask', unknownTask, {
        headers: { 'A2A-Version': '1.0.5' },
      }),
    codes: ['TASK_NOT_FOUND'],
  }),
  {
    id: 'errors.unknown-path',
    title: 'an unknown path is a 404 in JSON',
    fix: 'answer 404 with a JSON body, not with an HTML page',
    run: async (subject) => {
      const speaker = onlyRest(subject.speaker);
      const base = speaker.version === '1.0' ? '' : '/v1';
      const url = `${speaker.url}${base}/no/such/path`;
      const { status, json } = await speaker.probe.send({ url, headers: speaker.headers });
      if (status !== 404 && status !== 405) return `it is answered with HTTP ${status}`;
      return json === undefined ? 'its body is not JSON' : undefined;
    },
  },
];
