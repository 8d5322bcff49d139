import { type ErrorCode, errorTable } from '../../protocol/index.ts';
import { type Check, skip } from './finding.ts';
import { endedTask, type InterfaceSubject, sendRequest } from './operation-checks.ts';
import { type HttpSpeaker, isObject, overHttp, type Speaker, type Spoken } from './speaker.ts';

/** Undefined where the error is one of these; else what came instead. */
function expects(spoken: Spoken, ...codes: readonly ErrorCode[]): string | undefined {
  const { error, answer, code } = spoken;
  if (error === undefined) {
    return answer.json === undefined
      ? `HTTP ${answer.status} with a body that is no JSON`
      : 'it is accepted';
  }
  return codes.includes(error.code) ? undefined : `it is ${error.code} (${code ?? answer.status})`;
}

function onlyJsonRpc(speaker: Speaker): HttpSpeaker {
  return speaker.binding === 'JSONRPC' ? overHttp(speaker) : skip('of JSON-RPC alone');
}

/** Sends these bytes where the interface takes its messages. */
async function posted(
  subject: InterfaceSubject,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Spoken> {
  const speaker = overHttp(subject.speaker);
  const path = speaker.binding === 'JSONRPC' ? '' : restSendPath(speaker);
  const request = speaker.post(body, path);
  const answer = await speaker.probe.send({
    ...request,
    headers: { ...request.headers, ...headers },
  });
  return speaker.read(answer);
}

function restSendPath({ version }: Speaker): string {
  return version === '1.0' ? '/message:send' : '/v1/message:send';
}

export const errorChecks: readonly Check<InterfaceSubject>[] = [
  {
    id: 'errors.unknown-task',
    title: 'an unknown task is TaskNotFoundError',
    specification: '3.3.2',
    fix: 'answer -32001, over HTTP+JSON 404',
    run: async (subject) =>
      expects(await subject.speaker.speak('getTask', { id: 'no-such-task' }), 'TASK_NOT_FOUND'),
  },
  {
    id: 'errors.cancel-unknown',
    title: 'cancelling an unknown task is TaskNotFoundError',
    specification: '3.1.5',
    fix: 'answer -32001, over HTTP+JSON 404',
    run: async (subject) =>
      expects(await subject.speaker.speak('cancelTask', { id: 'no-such-task' }), 'TASK_NOT_FOUND'),
  },
  {
    id: 'errors.cancel-ended',
    title: 'cancelling a task that has ended is TaskNotCancelableError',
    specification: '3.1.5',
    fix: 'answer -32002, over HTTP+JSON 400',
    run: async (subject) => {
      const { id } = await endedTask(subject);
      const spoken = await subject.speaker.speak('cancelTask', { id });
      return expects(spoken, 'TASK_NOT_CANCELABLE');
    },
  },
  {
    id: 'errors.details',
    title: 'errors name their reason in the details',
    specification: '9.5, 11.6',
    isAdvice: true,
    fix: 'add google.rpc.ErrorInfo with reason and domain a2a-protocol.org',
    run: async (subject) => {
      const { speaker } = subject;
      if (speaker.version !== '1.0') skip('0.3 has no details');
      overHttp(speaker);
      const { answer } = await speaker.speak('getTask', { id: 'no-such-task' });
      return answer.text.includes('google.rpc.ErrorInfo') && answer.text.includes('TASK_NOT_FOUND')
        ? undefined
        : 'there is no ErrorInfo with the reason TASK_NOT_FOUND';
    },
  },
  {
    id: 'errors.no-message',
    title: 'a send without a message is refused',
    specification: '3.3.2',
    fix: 'answer InvalidParams (-32602), over HTTP+JSON 400',
    run: async ({ speaker }) =>
      expects(await speaker.speak('sendMessage', {}), 'INVALID_PARAMS', 'INVALID_REQUEST'),
  },
  {
    id: 'errors.empty-parts',
    title: 'a message without parts is refused',
    specification: '4.1.4',
    fix: 'answer InvalidParams: a message has at least one part',
    run: async (subject) => {
      const request = sendRequest(subject);
      const given: unknown = request['message'] ?? request['request'];
      const key = request['message'] === undefined ? 'request' : 'message';
      // As it is called in the version that is spoken.
      const empty = Object.entries(given as object).map(([name, value]: [string, unknown]) =>
        name === 'parts' || name === 'content' ? [name, []] : [name, value],
      );
      const spoken = await subject.speaker.speak('sendMessage', {
        ...request,
        [key]: Object.fromEntries(empty) as unknown,
      });
      return expects(spoken, 'INVALID_PARAMS', 'INVALID_REQUEST');
    },
  },
  {
    id: 'errors.json',
    title: 'what is no JSON is refused as such',
    specification: '9.5',
    fix: 'answer -32700, over HTTP+JSON 400 with a JSON body',
    run: async (subject) => {
      const spoken = await posted(subject, '{"jsonrpc": "2.0", ');
      const seen = expects(spoken, 'PARSE_ERROR', 'INVALID_REQUEST', 'INVALID_PARAMS');
      if (seen !== undefined || subject.speaker.binding !== 'JSONRPC') return seen;
      if (spoken.code !== errorTable.PARSE_ERROR.jsonRpc)
        return `it is ${spoken.code ?? 'no code'}`;
      const { json } = spoken.answer;
      return isObject(json) && json['id'] === null ? undefined : 'its id is not null';
    },
  },
  {
    id: 'errors.unknown-method',
    title: 'an unknown method is refused as such',
    specification: '9.5',
    fix: 'answer -32601',
    run: async (subject) => {
      const speaker = onlyJsonRpc(subject.speaker);
      const answer = await speaker.probe.send(speaker.envelope('NoSuchMethod', {}));
      return expects(speaker.read(answer), 'METHOD_NOT_FOUND');
    },
  },
  {
    id: 'errors.not-json-rpc',
    title: 'a request without jsonrpc "2.0" is refused',
    specification: '9.1',
    fix: 'answer -32600',
    run: async (subject) => {
      onlyJsonRpc(subject.speaker);
      const method = subject.speaker.version === '1.0' ? 'GetTask' : 'tasks/get';
      const body = JSON.stringify({ id: 1, method, params: { id: 'x' } });
      return expects(await posted(subject, body), 'INVALID_REQUEST');
    },
  },
  {
    id: 'errors.batch',
    title: 'a batch of requests is refused',
    isAdvice: true,
    fix: 'answer -32600: A2A has no batches',
    run: async (subject) => {
      onlyJsonRpc(subject.speaker);
      return expects(await posted(subject, '[]'), 'INVALID_REQUEST');
    },
  },
  {
    id: 'errors.content-type',
    title: 'another Content-Type than JSON is refused',
    specification: '3.3.2',
    fix: 'answer ContentTypeNotSupportedError (-32005)',
    run: async (subject) => {
      const { speaker } = subject;
      if (speaker.version !== '1.0') skip('0.3 leaves it open');
      const body = JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'GetTask',
        params: { id: 'x' },
      });
      const spoken = await posted(subject, body, { 'Content-Type': 'text/plain' });
      return expects(spoken, 'CONTENT_TYPE_NOT_SUPPORTED');
    },
  },
  {
    id: 'errors.version',
    title: 'an unknown version is refused',
    specification: '3.6.2',
    fix: 'answer VersionNotSupportedError (-32009) where A2A-Version is not spoken',
    run: async (subject) => {
      const { speaker } = subject;
      if (speaker.version !== '1.0') skip('0.3 knows no versions');
      const headers = { 'A2A-Version': '99.0' };
      const request = { id: 'no-such-task' };
      return expects(await speaker.speak('getTask', request, { headers }), 'VERSION_NOT_SUPPORTED');
    },
  },
  {
    id: 'errors.patch-version',
    title: 'the patch of a version does not count',
    specification: '3.6',
    isAdvice: true,
    fix: 'take 1.0.5 for 1.0',
    run: async (subject) => {
      const { speaker } = subject;
      if (speaker.version !== '1.0') skip('0.3 knows no versions');
      const headers = { 'A2A-Version': '1.0.5' };
      const request = { id: 'no-such-task' };
      return expects(await speaker.speak('getTask', request, { headers }), 'TASK_NOT_FOUND');
    },
  },
  {
    id: 'errors.unknown-path',
    title: 'an unknown path is a 404 in JSON',
    isAdvice: true,
    fix: 'answer 404 with a JSON body, not with a page for people',
    run: async (subject) => {
      if (subject.speaker.binding !== 'HTTP+JSON') skip('of HTTP+JSON alone');
      const speaker = overHttp(subject.speaker);
      const base = speaker.version === '1.0' ? '' : '/v1';
      const url = `${speaker.url}${base}/no/such/path`;
      const { status, json } = await speaker.probe.send({ url, headers: speaker.headers });
      if (status !== 404 && status !== 405) return `it is ${status}`;
      return json === undefined ? 'its body is no JSON' : undefined;
    },
  },
];
