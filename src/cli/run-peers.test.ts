/** What `peers:` of endpoints.yml gives to agents that `legate run` and `legate dev` serve. */
import { expect, onTestFinished, test } from 'vitest';
import { projectFolder } from '../../test/support/greenhouse.ts';
import { agent, completed, inputRequired, textOf } from '../agents/index.ts';
import { type Client, connect } from '../client/index.ts';
import { serve } from '../http/index.ts';
import { type SendMessageResponse, message } from '../protocol/index.ts';
import { legate, patient, start } from './testing/legate-process.ts';

const token = 'the-token-of-the-operator';

/** A peer over HTTP that asks for a year, then tells what it found. */
async function archiveUrl(): Promise<string> {
  const archive = agent({ name: 'archive', description: 'Finds old records' }, async (turn) =>
    turn.isContinuation
      ? completed(`3 records of ${textOf(turn.message)}`)
      : inputRequired('Which year?'),
  );
  const server = await serve(archive, { drainMs: 0 });
  onTestFinished(() => server.close());
  return server.url;
}

const desk = `import { agent, completed } from 'legate';
export const desk = agent({ name: 'desk' }, async ({ peers }) => {
  const found = await peers.call({ agent: 'archive', message: 'bees' });
  return found.state === 'completed' ? completed(found.text) : found.end;
});
`;

const clerk = {
  'config.yml':
    'recipe: default.v1\nlanguage: en\nassistant_id: clerk\npipeline:\n  - name: MatchingCommandGenerator\n',
  'domain.yml':
    'version: "3.1"\nsession_config: {start_session_after_expiry: false}\nresponses:\n  utter_found:\n    - text: That is all there is.\n',
  'data/flows.yml': `
flows:
  find_records:
    name: find records
    description: Find records in the archive.
    steps:
      - call: archive
      - action: utter_found
`,
};

interface Served {
  readonly client: Client;
  /** The names of the nodes of the call graph, by kind. */
  nodes(kind: string): Promise<readonly string[]>;
}

/** Runs a command in a folder with these files, and stops it after the test. */
async function served(
  args: readonly string[],
  files: Readonly<Record<string, string>>,
): Promise<Served> {
  const folder = await projectFolder(files);
  const flags = ['-p', '0', '--no-open', '--inspect-token', token];
  const running = start([...args, ...flags], { directory: folder.directory });
  onTestFinished(async () => {
    running.child.kill('SIGTERM');
    await running.ended;
    await folder[Symbol.asyncDispose]();
  });
  await expect
    .poll(() => `${running.out}${running.err}`, { timeout: 60_000 })
    .toMatch(/Stop:|^legate: /m);
  expect(running.err).not.toMatch(/^legate: /m);
  const url = /at (http:\/\/localhost:\d+)/.exec(running.out)?.[1] ?? '';
  return {
    client: await connect(url),
    async nodes(kind) {
      const headers = { authorization: `Bearer ${token}` };
      const answer = await fetch(`${url}/inspect/api/network`, { headers });
      const { nodes } = (await answer.json()) as { nodes: { kind: string; name: string }[] };
      return nodes.filter((node) => node.kind === kind).map(({ name }) => name);
    },
  };
}

const stateOf = (answer: SendMessageResponse) =>
  'task' in answer ? answer.task.status.state : 'message';

/** The question of the peer reaches the caller, and the caller's answer the peer. */
async function askThrough({ client }: Served, words: string): Promise<string> {
  const asked = await client.sendMessage(words);
  expect(stateOf(asked)).toBe('TASK_STATE_INPUT_REQUIRED');
  expect(JSON.stringify(asked)).toContain('Which year?');
  if (!('task' in asked)) throw new Error('expected a task');
  const { id: taskId, contextId } = asked.task;
  const answered = await client.sendMessage({ message: message('1901', { taskId, contextId }) });
  expect(stateOf(answered)).toBe('TASK_STATE_COMPLETED');
  return JSON.stringify(answered);
}

const peersAt = (url: string): string => `peers: {well_known: [{name: archive, url: "${url}"}]}\n`;

test.each([[['run', 'desk.ts', '--inspect']], [['dev', 'desk.ts']]])(
  'legate %j gives an agent in code its peers, and shows them in the inspector',
  patient,
  async (args) => {
    const files = { 'desk.ts': desk, 'endpoints.yml': peersAt(await archiveUrl()) };
    const made = await served(args, files);
    expect(await askThrough(made, 'go')).toContain('3 records of 1901');
    expect(await made.nodes('peer')).toEqual(['archive']);
    expect(await made.nodes('agent')).toEqual(['desk']);
  },
);

test.each([[['run', '--inspect']], [['dev']]])(
  'legate %j gives the flows of an assistant their peers, and shows them in the inspector',
  patient,
  async (args) => {
    const peers = peersAt(await archiveUrl());
    const a2a = 'a2a_server: {description: Finds records.}\n';
    const made = await served(args, { ...clerk, 'endpoints.yml': `${a2a}${peers}` });
    const answered = await askThrough(made, 'find records');
    expect(answered).toContain('That is all there is.');
    expect(await made.nodes('peer')).toEqual(['archive']);
  },
);

test('legate run without peers shows its callers, and no peer', patient, async () => {
  const greeter =
    "import { agent } from 'legate';\nexport const greeter = agent({ name: 'greeter' }, () => 'Hello');\n";
  const made = await served(['run', 'greeter.ts', '--inspect'], { 'greeter.ts': greeter });
  expect(JSON.stringify(await made.client.sendMessage('hi'))).toContain('Hello');
  expect(await made.nodes('peer')).toEqual([]);
  expect(await made.nodes('caller')).toEqual(['anonymous']);
});

test.each([
  ['an agent', 'desk.ts', { 'desk.ts': desk }, 'go\n1901\n'],
  ['an assistant', '.', clerk, 'find records\n1901\n'],
])('legate shell gives %s its peers', patient, async (_what, target, files, input) => {
  const url = await archiveUrl();
  const endpoints = `peers: {well_known: [{name: archive, url: "${url}"}]}\n`;
  await using folder = await projectFolder({ ...files, 'endpoints.yml': endpoints });
  const { code, out } = await legate(['shell', target], { input, directory: folder.directory });
  expect(code).toBe(0);
  expect(out).toContain('Which year?');
  expect(out).toContain('3 records of 1901');
});
