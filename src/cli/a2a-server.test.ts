import { expect, test } from 'vitest';
import { freePort } from '../../test/support/servers.ts';
import { busFolder, slow } from './testing.contract.ts';

const commands: readonly (readonly [string, readonly string[]])[] = [
  ['run agent.ts', ['run', 'agent.ts', '-p', '0']],
  ['gateway', ['gateway', 'desk', '--work', 'agent.ts', '-p', '0']],
];

const endpoints = (more: string): Readonly<Record<string, string>> => ({
  'endpoints.yml': `bus: {type: memory}\nstore: {type: memory}\n${more}`,
});

test.each(commands)('legate %s is served as a2a_server says', slow, async (_, args) => {
  const server = `
a2a_server:
  description: For assistants.
  url: https://agents.example.com/desk/
  max_contexts: 1
  push_notifications_enabled: true
`;
  await using folder = await busFolder(endpoints(server));
  const port = await freePort();
  await using running = folder.start(
    args.map((arg) => (arg === '0' ? String(port) : arg === 'desk' ? folder.name : arg)),
  );
  await running.says('Stop:');
  expect(running.err()).toContain('"description\\" has no effect');
  expect(running.err()).not.toContain('"url\\" has no effect');
  const local = `http://127.0.0.1:${port}`;
  const card = await (await fetch(`${local}/.well-known/agent-card.json`)).json();
  expect(card).toMatchObject({
    url: 'https://agents.example.com/desk',
    capabilities: { pushNotifications: true },
  });
  const ask = async (): Promise<string> => {
    const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'ask' }] };
    const response = await fetch(`${local}/message:send`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'A2A-Version': '1.0' },
      body: JSON.stringify({ message }),
    });
    return response.text();
  };
  expect(await ask()).toContain('TASK_STATE_INPUT_REQUIRED');
  expect(await ask()).toContain('context_limit');
});

test.each([
  ['an assistant', ['run', 'bank']],
  ['an agent in code', ['run', 'agent.ts']],
  ['a gateway', ['gateway', 'desk', '--work', 'agent.ts']],
] as const)('LEGATE_URL and --url are the public URL of %s', slow, async (_, args) => {
  const server = 'a2a_server: {description: Helps., url: "https://other.example"}\n';
  await using folder = await busFolder({
    ...endpoints(server),
    'bank/config.yml': 'assistant_id: bank\n',
    'bank/domain.yml':
      'version: "3.1"\nsession_config: {start_session_after_expiry: false, session_expiration_time: 0}\n',
    'bank/endpoints.yml': `store: {type: memory}\n${server}`,
  });
  const port = await freePort();
  const named = args.map((arg) => (arg === 'desk' ? folder.name : arg));
  await using running = folder.start([...named, '-p', String(port)], {
    env: { LEGATE_URL: 'https://agents.example.com/' },
  });
  await running.says('Stop:');
  const card = await (await fetch(`http://127.0.0.1:${port}/.well-known/agent-card.json`)).json();
  expect(card).toMatchObject({ url: 'https://agents.example.com' });
  const refused = await folder.run([...named, '--url', 'agents.example.com']);
  expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('https://') as string });
});

test('a card that names localhost on a server for other machines is a warning', slow, async () => {
  await using folder = await busFolder();
  const args = ['run', 'agent.ts', '-p', '0', '--auth-token', 'sesame', '-i'];
  const started = async (...more: readonly string[]): Promise<string> => {
    await using running = folder.start([...args, ...more]);
    await running.says('Stop:');
    return running.err();
  };
  expect(await started('0.0.0.0')).toMatch(/localhost:\d+.*http\.url_missing/);
  expect(await started('0.0.0.0', '--url', 'https://a.example')).not.toContain('url_missing');
  expect(await started('127.0.0.1')).not.toContain('url_missing');
});

test.each(commands)('legate %s refuses unknown keys with a suggestion', slow, async (_, args) => {
  await using folder = await busFolder(endpoints('a2a_server: {max_context: 5, limit: 2}\n'));
  const nested = await folder.run(args);
  expect(nested.code).toBe(2);
  expect(nested.err).toMatch(/endpoints\.yml:3:\d+ a2a_server.*"max_context".*"max_contexts"/);
  expect(nested.err).toMatch(/unknown key "limit".*known here: .*task_timeout_seconds/);
  await folder.write(endpoints('a2a_sever: {max_contexts: 5}\n'));
  const root = await folder.run(args);
  expect(root.code).toBe(2);
  expect(root.err).toMatch(/unknown key "a2a_sever"; did you mean "a2a_server"\?/);
});
