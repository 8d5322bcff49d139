import { connect as connectTcp, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { rabbitMq } from '../../../test/support/rabbitmq.ts';
import { agent } from '../../agents/index.ts';
import { connect } from '../../client/index.ts';
import { artifact, message } from '../../protocol/index.ts';
import { silentLogger } from '../../telemetry/index.ts';
import { gateway, hostOnBus, openBus } from '../index.ts';

/** A way to the broker that can be cut. */
async function cuttable(target: URL) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const onward = connectTcp(Number(target.port), target.hostname);
    for (const one of [socket, onward]) {
      sockets.add(one);
      one.on('error', () => undefined);
      one.on('close', () => sockets.delete(one));
    }
    socket.pipe(onward).pipe(socket);
  });
  const listen = (port: number) =>
    new Promise<number>((resolve) => {
      server.listen(port, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
    });
  const port = await listen(0);
  const cut = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  const url = new URL(target);
  url.host = `127.0.0.1:${port}`;
  return { url: url.href, cut, restore: () => listen(port), [Symbol.asyncDispose]: cut };
}

const echo = agent({ name: `echo-${process.pid}` }, async function* () {
  yield artifact('here');
});

test(
  'while the broker is away, gateway and worker are not ready, and messages are refused at once',
  { timeout: 60_000 },
  async () => {
    const broker = await rabbitMq();
    await using way = await cuttable(new URL(broker.url));
    const logger = silentLogger;
    await using bus = await openBus({ type: 'rabbitmq', url: way.url, logger });
    await using host = await hostOnBus(echo, { bus, logger });
    await using serving = await gateway({
      bus,
      agents: [host.name],
      logger,
      prometheus: true,
      drainMs: 0,
    });
    const connected = async () => {
      const text = await (await fetch(`${serving.url}/metrics`)).text();
      return /^legate_messaging_connected (\d)$/m.exec(text)?.[1];
    };
    const ready = async () => {
      const response = await fetch(`${serving.url}/ready`);
      return { status: response.status, body: (await response.json()) as object };
    };
    const client = await connect(serving.url);
    const answer = await client.sendMessage('x');
    expect(await ready()).toEqual({ status: 200, body: { status: 'ok' } });
    expect(await host.ready()).toEqual({ isReady: true });
    expect(await connected()).toBe('1');

    await way.cut();
    const reason = 'the message broker cannot be reached';
    await expect.poll(ready).toEqual({ status: 503, body: { status: 'unavailable', reason } });
    expect(await host.ready()).toEqual({ isReady: false, reason });
    expect(await connected()).toBe('0');
    expect((await fetch(`${serving.url}/health`)).status).toBe(200);
    const refused = await fetch(`${serving.url}/message:send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: JSON.stringify({ message: message('x') }),
    });
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('5');
    expect(await refused.text()).toContain(reason);
    if (!('task' in answer)) throw new Error('a task was expected');
    expect((await client.getTask({ id: answer.task.id })).id).toBe(answer.task.id);

    await way.restore();
    await expect.poll(ready, { timeout: 30_000 }).toMatchObject({ status: 200 });
    expect(await connected()).toBe('1');
    expect(await client.sendMessage('again')).toMatchObject({
      task: { status: { state: 'TASK_STATE_COMPLETED' } },
    });
  },
);
