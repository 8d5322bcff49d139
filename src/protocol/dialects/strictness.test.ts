import { describe, expect, test } from 'vitest';
import { LegateError } from '../errors.ts';
import { type Dialect, v03, v03Rest, v1 } from '../index.ts';

function faults(decode: () => unknown): readonly string[] {
  try {
    decode();
  } catch (error) {
    if (!(error instanceof LegateError)) throw error;
    expect(error.code).toBe('INVALID_PARAMS');
    return (error.violations ?? []).map((violation) => violation.field);
  }
  return [];
}

const good = { messageId: 'm', role: 'ROLE_USER', parts: [{ kind: 'text', text: 'x' }] };

describe.each(Object.entries({ v1, v03, v03Rest }))('%s', (_, dialect: Dialect) => {
  const send = (request: unknown) => faults(() => dialect.sendMessageRequest.decode(request));
  const sendMessage = (more: object) => send({ message: { ...good, ...more } });

  test('a good request is accepted (§3.1.1)', () => {
    expect(send({ message: good })).toEqual([]);
  });

  test.each([undefined, null, 1, 'x', [], true])('a request that is %j is refused', (request) => {
    expect(send(request)).toEqual(['']);
  });

  test.each([
    [{}, ['message']],
    [{ message: 1 }, ['message']],
    [{ message: null }, ['message']],
    [{ message: [] }, ['message']],
    [{ message: {} }, ['message.messageId', 'message.role', 'message.parts']],
    [{ message: good, configuration: [] }, ['configuration']],
    [{ message: good, configuration: { historyLength: -1 } }, ['configuration.historyLength']],
    [{ message: good, configuration: { historyLength: 1.5 } }, ['configuration.historyLength']],
    [
      { message: good, configuration: { acceptedOutputModes: [1] } },
      ['configuration.acceptedOutputModes[0]'],
    ],
    [{ message: good, metadata: 'x' }, ['metadata']],
  ])('the request %j names what is wrong (§5.7)', (request, expected) => {
    const fields = send(request);
    // A message without parts may be said to lack them under either name.
    expect(fields.map((field) => field.replace('content', 'parts'))).toEqual(expected);
  });

  test.each([
    ['messageId', ''],
    ['messageId', 7],
    ['messageId', null],
    ['contextId', 7],
    ['taskId', {}],
    ['role', 'ROLE_AGENT'],
    ['role', 'agent'],
    ['role', 'ROLE_UNSPECIFIED'],
    ['role', 'ROLE_KING'],
    ['role', 2],
    ['role', 9],
    ['role', null],
    ['role', {}],
    ['parts', []],
    ['parts', {}],
    ['parts', 'x'],
    ['metadata', []],
    ['metadata', 'x'],
    ['extensions', 'x'],
    ['referenceTaskIds', {}],
  ])('a message whose %s is %j is refused', (field, value) => {
    const other = sendMessage({ [field]: value });
    // The agent role is one that exists, and still no client may have it.
    expect(other).toEqual([`message.${field}`]);
  });

  test.each([
    [{}, 'message.parts[1]'],
    [{ metadata: {} }, 'message.parts[1]'],
    [1, 'message.parts[1]'],
    [null, 'message.parts[1]'],
    [[], 'message.parts[1]'],
    [{ kind: 'text', text: 1 }, 'message.parts[1].text'],
    [{ kind: 'text', text: null }, 'message.parts[1]'],
    [{ kind: 'text', text: 'a', data: {} }, 'message.parts[1]'],
    [{ kind: 'text', text: 'a', metadata: 1 }, 'message.parts[1].metadata'],
  ])('a part %j is refused (exactly one content)', (part, path) => {
    expect(sendMessage({ parts: [{ kind: 'text', text: 'fine' }, part] })).toEqual([path]);
  });

  test('an empty text is a text', () => {
    expect(sendMessage({ parts: [{ kind: 'text', text: '' }] })).toEqual([]);
  });

  test('unknown fields are ignored, and do not come through', () => {
    const request = {
      message: { ...good, zzz: 1, parts: [{ kind: 'text', text: 'x', zzz: 1 }] },
      zzz: 1,
    };
    expect(JSON.stringify(dialect.sendMessageRequest.decode(request))).not.toContain('zzz');
  });

  test('a message without id is refused, unless the reader makes ids', () => {
    const request = { message: { role: 'ROLE_USER', parts: [{ kind: 'text', text: 'x' }] } };
    expect(send(request)).toEqual(['message.messageId']);
    const lenient = { newMessageId: () => 'made' };
    expect(dialect.sendMessageRequest.decode(request, lenient).message.messageId).toBe('made');
    expect(dialect.sendMessageRequest.decode({ message: good }, lenient).message.messageId).toBe(
      'm',
    );
  });

  test('a peer may end an artifact without parts, where the reader allows it', () => {
    const artifact = { artifactId: 'a', parts: [] };
    const wire = dialect.streamResponse.encode(
      { artifactUpdate: { taskId: 't', contextId: 'c', artifact, lastChunk: true } },
      false,
    );
    const decode = (allowEmptyParts: boolean) =>
      dialect.streamResponse.decode(wire, { allowEmptyParts });
    expect(faults(() => decode(false))).toHaveLength(1);
    expect(decode(true)).toMatchObject({ artifactUpdate: { artifact } });
    const bare = { messageId: 'm', role: 'ROLE_AGENT' };
    expect(dialect.message.decode(bare, { allowEmptyParts: true }).parts).toEqual([]);
  });

  test('a message of a peer may have the agent role', () => {
    expect(dialect.message.decode({ ...good, role: 'ROLE_AGENT' }).role).toBe('ROLE_AGENT');
  });

  test.each([
    ['task', { contextId: 'c', status: { state: 'TASK_STATE_WORKING' } }, ['id']],
    ['task', { id: 't', contextId: 'c' }, ['status']],
    ['task', { id: 't', contextId: 'c', status: {} }, ['status.state']],
    ['task', { id: 't', contextId: 'c', status: { state: 'DONE' } }, ['status.state']],
    ['task', { id: 't', contextId: 'c', status: { state: 77 } }, ['status.state']],
    [
      'task',
      { id: 't', contextId: 'c', status: { state: 2, timestamp: 'noon' } },
      ['status.timestamp'],
    ],
    [
      'task',
      { id: 't', contextId: 'c', status: { state: 2 }, artifacts: [{ parts: [] }] },
      ['artifacts[0].artifactId', 'artifacts[0].parts'],
    ],
    ['task', { id: 't', contextId: 'c', status: { state: 2 }, history: [7] }, ['history[0]']],
    ['getTaskRequest', {}, ['id']],
    ['cancelTaskRequest', { id: '' }, ['id']],
    ['subscribeToTaskRequest', { id: 5 }, ['id']],
    ['listTasksRequest', { status: 'DONE' }, ['status']],
    ['listTasksRequest', { statusTimestampAfter: 'noon' }, ['statusTimestampAfter']],
    ['listTasksRequest', { includeArtifacts: 'true' }, ['includeArtifacts']],
  ] as const)('%s %j names what is wrong', (name, wire, expected) => {
    expect(faults(() => dialect[name].decode(wire))).toEqual(expected);
  });

  test('a query string has true and false as words, and lists with commas', () => {
    const query = { fromQuery: true };
    const request = { includeArtifacts: 'true', pageSize: '7', historyLength: '0' };
    expect(dialect.listTasksRequest.decode(request, query)).toEqual({
      includeArtifacts: true,
      pageSize: 7,
      historyLength: 0,
    });
    expect(
      faults(() => dialect.listTasksRequest.decode({ includeArtifacts: 'yes' }, query)),
    ).toEqual(['includeArtifacts']);
  });

  test('a filter for the unspecified state matches all states (§3.1.4)', () => {
    expect(dialect.listTasksRequest.decode({ status: 'TASK_STATE_UNSPECIFIED' })).toEqual({});
    expect(dialect.listTasksRequest.decode({ status: 0 })).toEqual({});
    expect(dialect.listTasksRequest.decode({ status: '' })).toEqual({});
  });

  test('a page without tasks has its required members all the same (§5.7)', () => {
    const page = { tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 };
    expect(dialect.listTasksResponse.encode(page)).toEqual(page);
    expect(dialect.listTasksResponse.decode({})).toEqual({ ...page, pageSize: 0 });
  });
});
