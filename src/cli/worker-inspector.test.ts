/** The inspector of workers and gateways: `legate work --inspect` and `legate gateway --inspect`. */
import { expect, test } from 'vitest';
import { connect } from '../client/index.ts';
import { busFolder, type Running, slow } from './testing.contract.ts';

const token = 'the-token-of-the-operator';
const inspected = ['--inspect', '--inspect-token', token, '--no-open', '-p', '0'];

/** Calls the API of the inspector as its page does; with a body, by POST. */
async function inspectorOf(running: Running) {
  await running.says('Stop:');
  const [, url = ''] = /^Inspector: (\S+?)\/inspect\/\?token=/m.exec(running.out()) ?? [];
  return {
    url,
    call: (path: string, body?: object, authorization = `Bearer ${token}`) =>
      fetch(`${url}/inspect/${path}`, {
        headers: { authorization, origin: url, 'content-type': 'application/json' },
        ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      }),
    json: async (path: string): Promise<unknown> =>
      (
        await fetch(`${url}/inspect/api/${path}`, { headers: { authorization: `Bearer ${token}` } })
      ).json(),
  };
}

test(
  'work --inspect shows callers and tasks, grants trust and talks to the agent',
  slow,
  async () => {
    await using folder = await busFolder();
    const { name } = folder;
    const bus = `type: rabbitmq, url: "\${AMQP_URL}", exchange: exchange-${name}`;
    await folder.write({
      'worker.yml': `bus: {${bus}, trusted: [{issuer: alice, unsigned: true}]}\n`,
    });
    const args = ['work', 'agent.ts', '--name', name, '--trust', '--endpoints', 'worker.yml'];
    await using working = folder.start([...args, '--log-level', 'warn', ...inspected]);
    const inspector = await inspectorOf(working);
    const call = () => folder.run(['call', name, 'echo', 'hello', '--name', 'alice']);
    expect((await call()).out).not.toContain('echo hello');
    expect(await inspector.json('peers')).toMatchObject({
      canSetTrust: true,
      peers: [{ id: 'bus-name::alice', trust: 'observe', interactions: 1 }],
    });
    expect(await inspector.json('network')).toMatchObject({
      nodes: expect.arrayContaining([
        expect.objectContaining({ id: name, kind: 'agent' }),
        expect.objectContaining({ id: 'bus-name::alice' }),
      ]) as unknown,
      calls: expect.arrayContaining([
        expect.objectContaining({ from: 'bus-name::alice', to: name, count: 1 }),
      ]) as unknown,
    });
    // What the operator grants there takes effect in the running worker.
    const path = `api/peers/${encodeURIComponent('bus-name::alice')}/trust`;
    const granted = await inspector.call(path, { level: 'act', approvedSkills: ['echo'] });
    expect(granted.status).toBe(200);
    expect((await call()).out).toContain('echo hello');
    // Nobody else may look, and the port has no A2A endpoints.
    expect((await inspector.call('api/peers', undefined, 'Bearer wrong')).status).toBe(401);
    expect((await inspector.call(path, { level: 'act' }, '')).status).toBe(401);
    expect((await fetch(`${inspector.url}/.well-known/agent-card.json`)).status).toBe(404);
    expect((await fetch(`${inspector.url}/ready`)).status).toBe(200);
    const page = await fetch(`${inspector.url}/inspect/`);
    expect(page.headers.get('content-type')).toContain('text/html');
    // The page talks to the engine that takes the tasks of the bus.
    const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'hi' }] };
    const sent = await inspector.call(`a2a/${name}/message:send`, { message });
    expect({ status: sent.status, text: await sent.text() }).toMatchObject({
      status: 200,
      text: expect.stringContaining('task') as unknown,
    });
    expect((await working.stop()).code).toBe(0);
  },
);

test('gateway --inspect shows the agents behind it and their callers', slow, async () => {
  await using folder = await busFolder({ 'endpoints.yml': 'bus: {type: memory}\n' });
  const { name } = folder;
  const args = ['gateway', 'other', name, '--work', 'agent.ts', '--log-level', 'warn'];
  await using serving = folder.start([...args, ...inspected]);
  const inspector = await inspectorOf(serving);
  const client = await connect(`${inspector.url}/agents/${name}`);
  expect(JSON.stringify(await client.sendMessage('hello'))).toContain('echo hello');
  const id = `gateway/${name}`;
  expect(await inspector.json('peers')).toMatchObject({
    canSetTrust: false,
    peers: [{ id, name, transport: 'bus', reach: 'reachable' }],
  });
  const anonymous = expect.stringMatching(/^caller /) as unknown;
  expect(await inspector.json('network')).toMatchObject({
    nodes: expect.arrayContaining([expect.objectContaining({ id, kind: 'peer' })]) as unknown,
    calls: [{ from: anonymous, to: id, count: 1, failed: 0 }],
  });
  expect((await inspector.call('api/peers', undefined, 'Bearer wrong')).status).toBe(401);
  expect((await serving.stop()).code).toBe(0);
});

test.each([
  [['work', 'agent.ts', '--inspect', '-i', '0.0.0.0'], 'refusing to listen on 0.0.0.0'],
  [['work', 'agent.ts', '--inspect', '--endpoints', 'public.yml'], 'refusing to listen on 0.0.0.0'],
  [['work', 'agent.ts', '--inspect', '--once'], "cannot be used with option '--once'"],
  [['gateway', 'x', '--inspect', '-i', '0.0.0.0'], 'set --auth-token, listen on 127.0.0.1'],
])('%j does not start', async (args, words) => {
  await using folder = await busFolder({
    'public.yml':
      'bus: {type: rabbitmq, url: "${AMQP_URL}"}\ntelemetry: {prometheus: {access: public}}\n',
  });
  const { code, out, err } = await folder.run(args);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain(words);
});

test('work --inspect listens elsewhere where the operator insists', slow, async () => {
  await using folder = await busFolder();
  const remote = ['-i', '0.0.0.0', '--dangerously-allow-unauthenticated-remote'];
  await using working = folder.start(['work', 'agent.ts', ...inspected, ...remote]);
  const inspector = await inspectorOf(working);
  expect(inspector.url).toContain('http://0.0.0.0:');
  expect((await inspector.call('api/peers')).status).toBe(200);
  expect((await inspector.call('api/peers', undefined, '')).status).toBe(401);
});
