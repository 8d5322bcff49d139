/** Our handler on the servers of other runtimes. */
import { beforeAll, describe, expect, test } from 'vitest';
import { connect } from '../../src/client/index.ts';
import { type Peer, runtimePeer } from './peers.ts';

const patient = { timeout: 120_000 };

describe.each([
  ['bun', '1.4.4'],
  ['deno', '2.9.6'],
] as const)('%s %s', (name, version) => {
  let peer: Peer | string;
  beforeAll(async () => {
    peer = await runtimePeer(name, version);
  }, 900_000);

  test(
    'fetch of the handler answers, streams and cancels, in both protocol versions',
    patient,
    async ({ skip }) => {
      if (typeof peer === 'string') return skip(peer);
      await using server = await peer.server();
      for (const protocol of ['1.0', '0.3'] as const) {
        for (const binding of ['JSONRPC', 'HTTP+JSON'] as const) {
          const client = await connect(server.url, { version: protocol, binding });
          expect((await client.ask('hello')).text).toBe('hello');
          const kinds: string[] = [];
          let held = '';
          for await (const { response } of client.sendStreamingMessage('hold')) {
            kinds.push(...Object.keys(response));
            if ('task' in response) held = response.task.id;
            if ('statusUpdate' in response && kinds.length === 2)
              await client.cancelTask({ id: held });
          }
          expect(kinds).toEqual(['task', 'statusUpdate', 'statusUpdate']);
          await expect(client.getTask({ id: 'no-such-task' })).rejects.toMatchObject({
            code: 'TASK_NOT_FOUND',
          });
        }
      }
      return undefined;
    },
  );

  test('our client, `serve` and SQLite run there', patient, async ({ skip }) => {
    if (typeof peer === 'string') return skip(peer);
    await using server = await peer.server();
    const answers = await peer.client(server.url, 'JSONRPC');
    expect(answers).toEqual(['there', 'first', '1 tasks', 'second', '2 tasks']);
    return undefined;
  });
});
