/** Official SDKs of other languages against our server and our client, over every binding. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { agent, textOf, working } from '../../src/agents/index.ts';
import { connect } from '../../src/client/index.ts';
import { grpcBinding, grpcChannel } from '../../src/grpc/index.ts';
import { serve, type Serving } from '../../src/http/index.ts';
import { artifact, type Part } from '../../src/protocol/index.ts';
import { goPeer, type Peer, pythonPeer } from './peers.ts';

const echo = agent({ name: 'echo', inputModes: ['*/*'] }, async function* (turn) {
  yield working();
  if (textOf(turn.message) === 'hold') {
    await new Promise((resolve) => turn.signal.addEventListener('abort', resolve, { once: true }));
  } else yield artifact(turn.message.parts);
});

/** A file that is base64 text: nothing but a setting can say how often it was encoded. */
const file = Buffer.from('a file').toString('base64');
const bindings = ['JSONRPC', 'HTTP+JSON', 'GRPC'] as const;
const patient = { timeout: 120_000 };

let server: Serving;
/** For callers that encode the bytes of files twice. */
let twice: Serving;
beforeAll(async () => {
  server = await serve(echo, { channels: [grpcChannel()] });
  twice = await serve(echo, { channels: [grpcChannel()], legacyFileBytes: 'twice' });
});
afterAll(async () => {
  await Promise.all([server.close(), twice.close()]);
});

/** What the client of a peer sees. */
const seenBy = {
  'a2a-sdk 1.3.0 for Python': {
    state: 'TASK_STATE_COMPLETED',
    text: 'hello',
    events: ['task', 'status_update', 'artifact_update', 'status_update'],
    file,
    canceled: 'TASK_STATE_CANCELED',
    unknown: 'TaskNotFoundError',
  },
  'a2a-go 2.3.1': {
    state: 'TASK_STATE_COMPLETED',
    text: 'hello',
    events: [
      '*a2a.Task',
      '*a2a.TaskStatusUpdateEvent',
      '*a2a.TaskArtifactUpdateEvent',
      '*a2a.TaskStatusUpdateEvent',
    ],
    file,
    canceled: 'TASK_STATE_CANCELED',
    unknown: true,
  },
  'a2a-sdk 0.3.26 for Python': {
    state: 'completed',
    text: 'hello',
    events: [
      'NoneType',
      'TaskStatusUpdateEvent',
      'TaskArtifactUpdateEvent',
      'TaskStatusUpdateEvent',
    ],
    file,
    canceled: 'canceled',
  },
};

describe.each([
  ['a2a-sdk 1.3.0 for Python', () => pythonPeer('1.3.0', 'v1.py')],
  ['a2a-sdk 0.3.26 for Python', () => pythonPeer('0.3.26', 'v03.py')],
  ['a2a-go 2.3.1', () => goPeer('2.3.1')],
] as const)('%s', (name, open) => {
  let peer: Peer | string;
  beforeAll(async () => {
    peer = await open();
  }, 900_000);
  const isLegacy = name.includes('0.3');

  test.for(bindings)('its client calls us over %s', patient, async (binding, { skip }) => {
    if (typeof peer === 'string') return skip(peer);
    const { url } = isLegacy && binding !== 'JSONRPC' ? twice : server;
    expect(await peer.client(url, binding)).toMatchObject({
      ...seenBy[name],
      // Over JSON-RPC, a2a-go expects the errors of streams as events; 1.0 has them as plain answers.
      ...(name.startsWith('a2a-go') && { unknown: binding !== 'JSONRPC' }),
      // The error of a stream is read as what it is, not as a broken stream.
      ...(isLegacy &&
        binding === 'JSONRPC' && {
          unknown: expect.stringMatching(/^A2AClientJSONRPCError.*-32001/s),
          again: expect.stringMatching(/^A2AClientJSONRPCError.*-32002/s),
        }),
    });
    return undefined;
  });

  test.for(bindings)('our client calls its server over %s', patient, async (binding, { skip }) => {
    if (typeof peer === 'string') return skip(peer);
    await using theirs = await peer.server();
    const client = await connect(theirs.url, {
      binding,
      bindings: [grpcBinding()],
      ...(isLegacy && binding !== 'JSONRPC' && { legacyFileBytes: 'twice' }),
    });
    expect(client.interface).toMatchObject({ protocolBinding: binding });
    const send = (part: Part) => ({
      message: { messageId: crypto.randomUUID(), role: 'ROLE_USER' as const, parts: [part] },
    });
    const raw = Buffer.from(file).toString('base64');
    expect(await client.sendMessage(send({ raw, mediaType: 'text/plain' }))).toMatchObject({
      task: { status: { state: 'TASK_STATE_COMPLETED' }, artifacts: [{ parts: [{ raw }] }] },
    });
    const kinds: string[] = [];
    for await (const { response } of client.sendStreamingMessage(send({ text: 'hello' }))) {
      kinds.push(...Object.keys(response));
    }
    expect(kinds).toEqual(['task', 'statusUpdate', 'artifactUpdate', 'statusUpdate']);
    await expect(client.getTask({ id: 'no-such-task' })).rejects.toMatchObject({
      code: 'TASK_NOT_FOUND',
    });
    return undefined;
  });
});
