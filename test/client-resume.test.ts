/** Our client against our server, with a network that breaks between them. */
import { createServer, type Socket, connect as dial } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { agent, chunk } from '../src/agents/index.ts';
import { connect } from '../src/client/index.ts';
import { serve, type Serving } from '../src/http/index.ts';

const chunks = 40;

/** Streams at the pace of its caller's network: each chunk waits for the one before to be seen. */
const steps = new Map<number, PromiseWithResolvers<void>>();
const stepOf = (index: number) => {
  const step = steps.get(index) ?? Promise.withResolvers<void>();
  steps.set(index, step);
  return step;
};
const streaming = agent({ name: 'streaming' }, async function* () {
  for (let index = 0; index < chunks; index += 1) {
    await stepOf(index).promise;
    yield chunk('a', `${index} `, { append: index > 0, last: index === chunks - 1 });
  }
});

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  steps.clear();
});

/** A way to the server that can be cut. */
async function breakable(server: Serving): Promise<{ port: number; cut: () => void }> {
  const sockets = new Set<Socket>();
  const proxy = createServer((near) => {
    const far = dial(server.port, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => void proxy.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => void proxy.close());
  const address = proxy.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}

for (const [protocolBinding, protocolVersion] of [
  ['JSONRPC', '1.0'],
  ['JSONRPC', '0.3'],
  ['HTTP+JSON', '1.0'],
  ['HTTP+JSON', '0.3'],
] as const) {
  describe(`${protocolBinding} ${protocolVersion}`, () => {
    test('a stream that breaks again and again yields every event once', async () => {
      const server = await serve(streaming);
      cleanups.push(() => server.close());
      const { port, cut } = await breakable(server);
      const url = `http://127.0.0.1:${port}`;
      const card = {
        ...server.router.cards.current,
        supportedInterfaces: [{ url, protocolBinding, protocolVersion }],
      };
      const client = await connect(card, { sleep: () => Promise.resolve() });
      const texts: string[] = [];
      let state = '';
      stepOf(0).resolve();
      for await (const { response } of client.sendStreamingMessage('go')) {
        if ('artifactUpdate' in response) {
          texts.push(...response.artifactUpdate.artifact.parts.map((part) => part.text ?? ''));
          if (texts.length % 7 === 0) cut();
          stepOf(texts.length).resolve();
        } else if ('statusUpdate' in response) ({ state } = response.statusUpdate.status);
        else if ('task' in response) ({ state } = response.task.status);
      }
      expect(texts).toEqual(Array.from({ length: chunks }, (_, index) => `${index} `));
      expect(state).toBe('TASK_STATE_COMPLETED');
    });
  });
}
