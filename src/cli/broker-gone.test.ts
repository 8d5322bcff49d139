import { connect, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { projectFolder } from '../../test/support/greenhouse.ts';
import { rabbitMq, startRabbitMq } from '../../test/support/rabbitmq.ts';
import { freePort } from '../../test/support/servers.ts';
import { agentModule, slow, start } from './testing.contract.ts';

test(
  'workers and gateways shut down on SIGTERM while the broker is down, whatever publish_timeout says',
  slow,
  async () => {
    const broker = await startRabbitMq();
    await using folder = await projectFolder({
      'endpoints.yml': 'bus: {type: rabbitmq, url: "${AMQP_URL}", publish_timeout: 3600000}\n',
      'agent.ts': agentModule('echo'),
    });
    const options = { cwd: folder.directory, env: { AMQP_URL: broker.url } };
    await using working = start(['work', 'agent.ts'], options);
    await using gateway = start(['gateway', 'echo', '--port', '0'], options);
    await working.says('Stop:');
    await gateway.says('Stop:');
    await broker.kill();
    for (const process of [working, gateway]) {
      await process.says('bus.connection.lost');
      const { code, err } = await process.stop();
      expect(code, err).toBe(0);
    }
  },
);

const said = (id: string) => ({ messageId: id, role: 'ROLE_USER', parts: [{ text: 'hello' }] });

async function post(url: string, body: object): Promise<{ status: number; body: string }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  });
  return { status: response.status, body: await response.text() };
}

test(
  'a gateway that starts before its broker is up answers at once, and serves once the broker is there',
  slow,
  async () => {
    const { url: brokerUrl } = await rabbitMq();
    await using way = await wayTo(new URL(brokerUrl));
    await using folder = await projectFolder({
      'endpoints.yml': `bus: {type: rabbitmq, url: "\${AMQP_URL}", exchange: cold-${process.pid}}\n`,
      'agent.ts': agentModule('echo'),
    });
    const cwd = folder.directory;
    await using working = start(['work', 'agent.ts'], { cwd, env: { AMQP_URL: brokerUrl } });
    await working.says('Stop:');
    await using gateway = start(['gateway', 'echo', '--port', '0'], {
      cwd,
      env: { AMQP_URL: way.url },
    });
    await gateway.says('Stop:');
    const url = /at (http:\/\/\S+)/.exec(gateway.out())?.[1] ?? '';
    const statusOf = async (path: string): Promise<number> => (await fetch(url + path)).status;
    expect(await statusOf('/health')).toBe(200);
    expect(await statusOf('/ready')).toBe(503);
    const rest = await post(`${url}/message:send`, { message: said('rest') });
    expect(rest).toMatchObject({ status: 503, body: expect.stringMatching(/UNAVAILABLE/) });
    const call = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: said('rpc') } };
    const rpc = await post(url, call);
    expect(rpc.body).toContain('the message broker cannot be reached');
    expect(rpc.body).toContain('"error"');

    await way.open();
    await expect.poll(() => statusOf('/ready'), { timeout: 30_000 }).toBe(200);
    const answer = await post(`${url}/message:send`, { message: said('later') });
    expect(answer).toMatchObject({ status: 200, body: expect.stringContaining('echo hello') });
    // The agent announced itself before the gateway was connected.
    const card = async (): Promise<string> =>
      (await fetch(`${url}/.well-known/agent-card.json`)).text();
    await expect.poll(card, { timeout: 30_000 }).toContain('Says it again');
    expect((await gateway.stop()).code).toBe(0);
  },
);

test('a gateway stops at once while it waits for its broker', slow, async () => {
  await using folder = await projectFolder({});
  const args = ['gateway', 'echo', '--port', '0', '--bus-url', 'amqp://127.0.0.1:1'];
  await using gateway = start(args, { cwd: folder.directory });
  await gateway.says('Stop:');
  expect((await gateway.stop()).code).toBe(0);
  const limited = await start([...args, '--connect-timeout', '1'], { cwd: folder.directory }).ended;
  expect(limited.code).toBe(3);
  expect(limited.err).toContain('nothing listens there');
});

test('a gateway ends when its broker refuses it', slow, async () => {
  const url = new URL((await rabbitMq()).url);
  url.password = 'wrong';
  await using folder = await projectFolder({});
  const args = ['gateway', 'echo', '--port', '0', '--bus-url', url.href];
  const { code, err } = await start(args, { cwd: folder.directory }).ended;
  expect(code).not.toBe(0);
  expect(err).toMatch(/password|refused|denied/i);
});

/** A port on which nothing listens until it is opened, and which then leads to `target`. */
async function wayTo(target: URL) {
  const server = createServer((socket) => {
    const onward = connect(Number(target.port), target.hostname);
    for (const one of [socket, onward]) one.on('error', () => undefined);
    socket.pipe(onward).pipe(socket);
    socket.on('close', () => onward.destroy());
    onward.on('close', () => socket.destroy());
  });
  const port = await freePort();
  const url = new URL(target);
  url.host = `127.0.0.1:${port}`;
  return {
    url: url.href,
    open: () => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve)),
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}
