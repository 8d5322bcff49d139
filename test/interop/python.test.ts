/** a2a-sdk for Python, 1.x and 0.3, against our server and our client, over every binding. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { agent, textOf, working } from '../../src/agents/index.ts';
import { connect } from '../../src/client/index.ts';
import { grpcBinding, grpcChannel } from '../../src/grpc/index.ts';
import { serve, type Serving } from '../../src/http/index.ts';
import { artifact, type Part } from '../../src/protocol/index.ts';
import { type PythonPeer, pythonPeer } from './python.ts';

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

describe.each([
  ['1.3.0', 'v1.py'],
  ['0.3.26', 'v03.py'],
] as const)('a2a-sdk %s for Python', (sdk, script) => {
  let peer: PythonPeer | string;
  beforeAll(async () => {
    peer = await pythonPeer(sdk, script);
    if (typeof peer === 'string') console.error(`skipped: ${peer}`);
  }, 900_000);
  const isLegacy = sdk.startsWith('0.3');

  test.for(bindings)('its client calls us over %s', patient, async (binding, { skip }) => {
    if (typeof peer === 'string') return skip(peer);
    const { url } = isLegacy && binding !== 'JSONRPC' ? twice : server;
    const seen = await peer.client(url, binding);
    if (!isLegacy) {
      expect(seen).toEqual({
        state: 'TASK_STATE_COMPLETED',
        text: 'hello',
        events: ['task', 'status_update', 'artifact_update', 'status_update'],
        file,
        canceled: 'TASK_STATE_CANCELED',
        unknown: 'TaskNotFoundError',
      });
      return undefined;
    }
    expect(seen).toMatchObject({
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
      // The error of a stream is read as what it is, not as a broken stream.
      ...(binding === 'JSONRPC' && {
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
