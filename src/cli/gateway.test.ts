import { expect, test } from 'vitest';
import { connect } from '../client/index.ts';
import { message } from '../protocol/index.ts';
import { startReceiver } from '../push/receiver.contract.ts';
import { busFolder, type Running, slow } from './testing.contract.ts';

async function urlOf(running: Running): Promise<string> {
  await running.says('Stop:');
  return /at (http:\/\/\S+)/.exec(running.out())?.[1] ?? '';
}

test('gateway serves agents of the bus to authenticated callers', slow, async () => {
  await using folder = await busFolder({
    'keys.json': JSON.stringify([{ subject: 'bob', key: 'key-of-bob' }]),
  });
  await using working = folder.start(['work', 'agent.ts', '--log-level', 'warn']);
  await working.says('Working as');
  const auth = ['--auth-token', 'sesame', '--api-keys', 'keys.json'];
  await using serving = folder.start(['gateway', folder.name, '-p', '0', ...auth]);
  const url = await urlOf(serving);
  expect((await fetch(`${url}/.well-known/agent-card.json`)).status).toBe(200);
  await expect((await connect(url)).sendMessage('x')).rejects.toMatchObject({
    code: 'UNAUTHENTICATED',
  });
  for (const headers of [{ authorization: 'Bearer sesame' }, { 'x-api-key': 'key-of-bob' }]) {
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'a2a-version': '1.0', 'content-type': 'application/json' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'SendMessage',
        params: {
          message: {
            messageId: crypto.randomUUID(),
            role: 'ROLE_USER',
            parts: [{ text: 'hello' }],
          },
        },
      }),
    });
    expect(await response.text()).toContain('echo hello');
  }
  const extended = (headers: Record<string, string>): Promise<Response> =>
    fetch(`${url}/extendedAgentCard`, { headers: { 'a2a-version': '1.0', ...headers } });
  expect((await extended({})).status).toBe(401);
  expect(await (await extended({ authorization: 'Bearer sesame' })).json()).toMatchObject({
    name: folder.name,
    capabilities: { extendedAgentCard: true },
  });
  const listed = (await (await fetch(`${url}/agents`)).json()) as { agents: object[] };
  expect(listed.agents).toMatchObject([{ name: folder.name }]);
  expect((await serving.stop()).code).toBe(0);
});

test('gateway and agent in one process need no broker', slow, async () => {
  await using folder = await busFolder({ 'endpoints.yml': 'bus: {type: memory}\n' });
  const args = ['gateway', folder.name, '--work', 'agent.ts', '-p', '0'];
  await using serving = folder.start([...args, '--requests-per-second', '2']);
  const client = await connect(await urlOf(serving));
  const answer = await client.sendMessage('hello');
  expect(JSON.stringify(answer)).toContain('echo hello');
  // The limit of one caller holds.
  const many = await Promise.allSettled(
    Array.from({ length: 12 }, () =>
      fetch(`${client.card.supportedInterfaces[0]?.url}/tasks`, {
        headers: { 'a2a-version': '1.0' },
      }),
    ),
  );
  const statuses = many.map((each) => (each.status === 'fulfilled' ? each.value.status : 0));
  expect(statuses).toContain(429);
  expect((await serving.stop()).code).toBe(0);
});

test('agents of --work have the peers of the endpoints.yml beside them', slow, async () => {
  await using folder = await busFolder({ 'endpoints.yml': 'bus: {type: memory}\n' });
  await folder.write({
    'desk/endpoints.yml': `peers: {well_known: [${folder.name}]}\n`,
    'desk/desk.ts': `
import { agent, completed } from 'legate';
export const desk = agent({ name: 'desk' }, async ({ peers }) => {
  const said = await peers.call({ agent: '${folder.name}', skill: 'echo', message: 'hello' });
  return said.state === 'completed' ? completed('It said: ' + said.text) : said.end;
});
`,
  });
  const args = ['gateway', 'desk', '--work', 'agent.ts', 'desk/desk.ts', '-p', '0'];
  await using serving = folder.start(args);
  const client = await connect(await urlOf(serving));
  expect(JSON.stringify(await client.sendMessage('go'))).toContain('It said: echo hello');
  expect((await serving.stop()).code).toBe(0);
});

test(
  'the hosts that --push-hosts opens are in the log, and webhooks go there and nowhere else',
  slow,
  async () => {
    await using receiver = await startReceiver(
      (_call, response) => void response.writeHead(204).end(),
    );
    await using folder = await busFolder({ 'endpoints.yml': 'bus: {type: memory}\n' });
    const args = [
      'gateway',
      folder.name,
      '--work',
      'agent.ts',
      '-p',
      '0',
      '--push-hosts',
      'localhost',
    ];
    await using serving = folder.start(args);
    const client = await connect(await urlOf(serving));
    expect(serving.err()).toMatch(
      /localhost.*audit\.push\.hosts_opened|audit\.push\.hosts_opened.*localhost/,
    );
    const { port } = new URL(receiver.url);
    const send = (url: string) =>
      client.sendMessage({
        message: message('hello'),
        configuration: { taskPushNotificationConfig: { url } },
      });
    await send(`http://localhost:${port}/hook`);
    await expect.poll(() => receiver.calls.length, { timeout: 10_000 }).toBeGreaterThan(0);
    for (const url of [`http://127.0.0.1:${port}/hook`, 'https://hooks.example.com/hook']) {
      await expect(send(url)).rejects.toMatchObject({ code: 'INVALID_PARAMS' });
    }
    expect((await serving.stop()).code).toBe(0);
  },
);

test.each([
  [['gateway'], "missing required argument 'agents'"],
  [['gateway', 'x', '-i', '0.0.0.0', '-p', '0'], 'set --auth-token, listen on 127.0.0.1'],
  [['gateway', 'x', '--api-keys', 'broken.json'], 'broken.json is not JSON'],
  [['gateway', 'x', '--jwt-secret', 'x'.repeat(40), '--jwt-method', 'HS265'], 'HS256'],
  [['gateway', 'x', '--jwt-secret', 'x', '--jwks-url', 'https://a.example'], 'cannot be used with'],
  [['gateway', 'x', '--ssl-keyfile', 'k'], 'both --ssl-certificate and --ssl-keyfile'],
])('%j does not start', async (args, words) => {
  await using folder = await busFolder({ 'broken.json': '[{"key": "hunter2"' });
  const { code, out, err } = await folder.run(args);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain(words);
  expect(err).not.toContain('hunter2');
});
