import { afterEach, describe, expect, test } from 'vitest';
import { agent, inputRequired } from '../agents/index.ts';
import { Authenticator, bearerTokenVerifier } from '../auth/index.ts';
import { artifact } from '../protocol/index.ts';
import { serve, type ServeOptions, type Serving } from './index.ts';

/** Asks a question for text, and returns anything else. */
const echo = agent({ name: 'echo', inputModes: ['*/*'] }, async function* ({ message }) {
  if (message.parts[0]?.text !== undefined) yield inputRequired('what?');
  else yield artifact(message.parts);
});

let server: Serving | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function start(options: ServeOptions = {}): Promise<string> {
  server = await serve(echo, options);
  return server.url;
}

interface Answer {
  readonly result?: { readonly id: string; readonly status: { readonly state: string } };
  readonly error?: { readonly code: number };
}

const post = (url: string, body: object, headers: Record<string, string> = {}) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
const rpc = (url: string, method: string, params: object) =>
  post(url, { jsonrpc: '2.0', id: 'r', method, params });
const answer = async (response: Promise<Response>): Promise<Answer> =>
  (await (await response).json()) as Answer;
const say = (part: object, more: object = {}) => ({
  message: { kind: 'message', messageId: 'm', role: 'user', parts: [part], ...more },
});
const hello = { kind: 'text', text: 'hello' };

describe('0.3 over JSON-RPC', () => {
  test.each([
    ['message/stream', say({ text: 'no kind' }), -32602],
    ['message/stream', say(hello, { taskId: 'nope' }), -32001],
    ['tasks/resubscribe', { id: 'nope' }, -32001],
  ])(
    'the error of %s is an event with a JSON-RPC response (7.2.1)',
    async (method, params, code) => {
      const response = await rpc(await start(), method, params);
      expect([response.status, response.headers.get('content-type')]).toEqual([
        200,
        expect.stringMatching(/^text\/event-stream/),
      ]);
      const [, data = ''] = /^data: (.*)\n\n$/.exec(await response.text()) ?? [];
      expect(JSON.parse(data)).toMatchObject({ jsonrpc: '2.0', id: 'r', error: { code } });
    },
  );

  test('a refused credential is an HTTP status, of streams too', async () => {
    const verifier = bearerTokenVerifier({ tokens: [{ token: 'secret', subject: 'ann' }] });
    const url = await start({ auth: new Authenticator({ verifiers: [verifier] }) });
    expect((await rpc(url, 'message/stream', say(hello))).status).toBe(401);
  });

  test('a task can be canceled once', async () => {
    const url = await start();
    const task = (await answer(rpc(url, 'message/send', say(hello)))).result;
    const cancel = () => answer(rpc(url, 'tasks/cancel', { id: task?.id }));
    expect((await cancel()).result?.status.state).toBe('canceled');
    expect((await cancel()).error?.code).toBe(-32002);
    const again = await post(
      url,
      { jsonrpc: '2.0', id: 1, method: 'CancelTask', params: { id: task?.id } },
      { 'a2a-version': '1.0' },
    );
    expect(await again.json()).toHaveProperty('result.status.state', 'TASK_STATE_CANCELED');
  });

  test.each([{ text: 'x' }, { type: 'text', text: 'x' }, { kind: 'video', text: 'x' }])(
    'the part %j is refused: its kind is not known',
    async (part) => {
      const { error } = await answer(rpc(await start(), 'message/send', say(part)));
      expect(error?.code).toBe(-32602);
    },
  );

  test.each([
    [{ method: 'message/ssend', params: {} }, -32601],
    [{ method: 'message/send', params: { '': 'x' } }, -32602],
    [{ method: 'message/send', params: say(hello) }, -32600],
  ])('the request %j without an id is answered by what is wrong with it', async (body, code) => {
    const { error } = await answer(post(await start(), { jsonrpc: '2.0', ...body }));
    expect(error?.code).toBe(code);
  });
});

describe('0.3 over HTTP+JSON: the bytes of a file', () => {
  const base64 = (content: string) => Buffer.from(content).toString('base64');
  // A file that is base64 text itself: nothing but the setting can say what was sent.
  const content = base64('a file');
  const echoed = async (url: string, bytes: string, token?: string): Promise<string> => {
    const file = { fileWithBytes: bytes, mimeType: 'text/plain' };
    const message = { messageId: 'm', role: 'ROLE_USER', content: [{ file }] };
    const configuration = { blocking: true };
    const response = await post(
      `${url}/v1/message:send`,
      { message, configuration },
      token === undefined ? {} : { authorization: `Bearer ${token}` },
    );
    const { task } = (await response.json()) as {
      task: { artifacts: { parts: { file: { fileWithBytes: string } }[] }[] };
    };
    return task.artifacts[0]?.parts[0]?.file.fileWithBytes ?? '';
  };

  test('are encoded once, by default', async () => {
    const url = await start();
    expect(await echoed(url, base64(content))).toBe(base64(content));
    expect(await stored()).toBe(base64(content));
  });

  test('are encoded twice for the callers that do so', async () => {
    const tokens = ['python', 'go'].map((name) => ({ token: name, subject: name }));
    const url = await start({
      auth: new Authenticator({ verifiers: [bearerTokenVerifier({ tokens })] }),
      legacyFileBytes: ({ subject }) => (subject === 'python' ? 'twice' : 'once'),
    });
    const twice = base64(base64(content));
    expect(await echoed(url, twice, 'python')).toBe(twice);
    expect(await stored('python')).toBe(base64(content));
    expect(await echoed(url, base64(content), 'go')).toBe(base64(content));
    expect(await stored('go')).toBe(base64(content));
  });

  /** The bytes as the store has them. */
  async function stored(token?: string): Promise<string | undefined> {
    const response = await fetch(`${server?.url}/tasks?includeArtifacts=true`, {
      headers: {
        'a2a-version': '1.0',
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
    });
    const { tasks } = (await response.json()) as {
      tasks: { artifacts: { parts: { raw: string }[] }[] }[];
    };
    return tasks[0]?.artifacts[0]?.parts[0]?.raw;
  }
});
