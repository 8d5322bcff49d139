/** Healthy traffic behind JWT is never refused: a refusal in the audit log means that something is wrong. */
import { afterEach, expect, test } from 'vitest';
import { agent, remoteAgent, textOf } from '../../src/agents/index.ts';
import { serveAssistant } from '../../src/assistant/index.ts';
import { connect } from '../../src/client/index.ts';
import { serve } from '../../src/http/index.ts';
import { joinPeers } from '../../src/peers/index.ts';
import { artifact } from '../../src/protocol/index.ts';
import { openMemory } from '../../src/store/index.ts';
import { projectFolder } from '../support/greenhouse.ts';
import { tokenAuthenticator, tokenOf, tokenSecret } from './support/callers.ts';
import { MemoryLog } from './support/log.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

function keep<T extends AsyncDisposable>(opened: T): T {
  closing.push(() => Promise.resolve(opened[Symbol.asyncDispose]()));
  return opened;
}

const echo = agent({ name: 'echo' }, async function* (turn) {
  yield artifact(`heard ${textOf(turn.message)}`);
});

/** An agent behind JWT; `denied` counts what its process refused. */
async function protectedAgent() {
  const log = new MemoryLog();
  const auth = await tokenAuthenticator();
  const server = keep(await serve(echo, { auth, logger: log, prometheus: true, drainMs: 0 }));
  const token = await tokenOf({ sub: 'us' });
  const denied = async (): Promise<number> => {
    const headers = { authorization: `Bearer ${token}` };
    const text = await (await fetch(`${server.url}/metrics`, { headers })).text();
    const counted = Array.from(text.matchAll(/^legate_http_denied_total\{.*\} (\d+)$/gm));
    return counted.reduce((sum, [, count]) => sum + Number(count), 0);
  };
  /** Shows that a refusal would have been seen. */
  const refuseStranger = async (): Promise<void> => {
    expect((await fetch(`${server.url}/tasks`)).status).toBe(401);
    expect(await denied()).toBe(1);
    expect(log.audited('denied')).toHaveLength(1);
  };
  return { url: server.url, token, log, denied, refuseStranger };
}

test.each(['JSONRPC', 'HTTP+JSON'] as const)(
  'a client with its token is refused nothing over %s, from the card to the last stream',
  async (binding) => {
    const { url, token, log, denied, refuseStranger } = await protectedAgent();
    const client = await connect(url, { binding, auth: { bearer: token } });
    const answer = await client.sendMessage('x');
    if (!('task' in answer)) throw new Error('a task was expected');
    await client.getTask(answer.task.id);
    await client.listTasks({});
    const streamed: unknown[] = [];
    for await (const { response } of client.sendStreamingMessage('y')) streamed.push(response);
    expect(JSON.stringify(streamed)).toContain('heard y');
    expect(await denied()).toBe(0);
    expect(log.audited('denied')).toEqual([]);
    await refuseStranger();
  },
);

test('an agent that calls a protected agent is refused nothing', async () => {
  const { url, token, log, denied, refuseStranger } = await protectedAgent();
  const near = remoteAgent(url, { name: 'near', auth: { bearer: token } });
  const server = keep(await serve(near, { drainMs: 0 }));
  const client = await connect(server.url);
  for (const said of ['x', 'y']) {
    expect(JSON.stringify(await client.sendMessage(said))).toContain(`heard ${said}`);
  }
  expect(await denied()).toBe(0);
  expect(log.audited('denied')).toEqual([]);
  await refuseStranger();
});

test('an assistant behind JWT with a sub agent behind JWT: neither refuses anything', async () => {
  const { url, token, log, denied, refuseStranger } = await protectedAgent();
  const folder = keep(
    await projectFolder({
      'config.yml': 'assistant_id: desk\npipeline: [{name: MatchingCommandGenerator}]\n',
      'domain.yml': 'session_config: {start_session_after_expiry: false}\n',
      'data/flows.yml': `
flows:
  advice:
    description: Get advice.
    examples: [get advice]
    run_pattern_completed: false
    steps:
      - call: echo
`,
      'sub_agents/echo/config.yml': `
agent: {name: echo, description: Gives advice., protocol: A2A}
configuration: {agent_card: "\${ECHO}/.well-known/agent-card.json", auth: {token: "\${TOKEN}"}}
`,
      'endpoints.yml': `
store: {type: memory}
a2a_server: {description: Helps., auth: {type: bearer, jwt: {algorithm: HS256, secret: "\${JWT_SECRET}"}}}
`,
    }),
  );
  const assistantLog = new MemoryLog();
  const assistant = keep(
    await serveAssistant({
      places: { directory: folder.directory },
      environment: { ECHO: url, TOKEN: token, JWT_SECRET: tokenSecret },
      logger: assistantLog,
      drainMs: 0,
    }),
  );
  const client = await connect(assistant.url, { auth: { bearer: token } });
  for (const _ of [1, 2]) {
    expect(JSON.stringify(await client.sendMessage('get advice'))).toContain('heard get advice');
  }
  // Both servers are in this process, and count together.
  expect(await denied()).toBe(0);
  expect([...log.audited('denied'), ...assistantLog.audited('denied')]).toEqual([]);
  await refuseStranger();
});

test('a peer with its credential is refused nothing', async () => {
  const { url, token, log, denied, refuseStranger } = await protectedAgent();
  const network = keep(
    await joinPeers({
      name: 'me',
      store: openMemory(),
      wellKnown: [
        {
          name: 'echo',
          url,
          credential: { headerName: 'Authorization', headerValue: `Bearer ${token}` },
        },
      ],
    }),
  );
  const session = { id: 'c', caller: { tenant: '', subject: 'u', method: 'test' } };
  const request = { agent: 'echo', skill: 'echo', message: 'x' };
  const { outcome } = await network.invoker.invokeAndWait(request, session);
  expect(outcome?.text).toBe('heard x');
  expect(await denied()).toBe(0);
  expect(log.audited('denied')).toEqual([]);
  await refuseStranger();
});
