import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import {
  type Agent,
  agent,
  authRequired,
  completed,
  failed,
  inputRequired,
  rejected,
  reply,
  textOf,
  type Turn,
  working,
} from '../../src/agents/index.ts';
import { apiKeyVerifier, Authenticator, bearerTokenVerifier } from '../../src/auth/index.ts';
import {
  cancel,
  chitchat,
  continueAgent,
  set,
  start,
} from '../../src/assistant/testing/conversation.ts';
import { connect } from '../../src/client/index.ts';
import { grpcBinding, serveGrpc } from '../../src/grpc/index.ts';
import { serve, type ServeOptions, type Serving } from '../../src/http/index.ts';
import { artifact, data } from '../../src/protocol/index.ts';
import { TurnStopped } from '../../src/tasks/index.ts';
import { serveAssistant } from '../../src/assistant/index.ts';
import { projectFolder } from '../support/greenhouse.ts';
import { talk, type TalkOptions, trip } from './support.ts';

const APOLOGY = 'Something went wrong on my side. Please try that again.';
const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function serving(served: Agent, options: ServeOptions = {}): Promise<Serving> {
  const server = await serve(served, { drainMs: 0, cancelGraceMs: 500, ...options });
  open.push(server);
  return server;
}

interface Asked {
  readonly id?: number;
  readonly message?: Turn['message'];
}

/** A gate before an agent, which answers some requests itself; gives its address. */
async function gateTo(
  url: string,
  answer: (asked: Asked) => { readonly status: number; readonly body?: string } | undefined,
): Promise<string> {
  const gate = createServer((request, response) => {
    let body = '';
    request.on('data', (bytes: Buffer) => (body += bytes.toString()));
    request.on('end', () => {
      const { id, params } = JSON.parse(body || '{}') as { id?: number; params?: Asked };
      const own = answer({ ...params, ...(id !== undefined && { id }) });
      if (own !== undefined) {
        response.writeHead(own.status, { 'content-type': 'application/json' }).end(own.body);
        return;
      }
      const { method = 'GET', headers } = request;
      void fetch(url + (request.url ?? ''), {
        method,
        headers: {
          'content-type': headers['content-type'] ?? 'application/json',
          accept: headers.accept ?? '*/*',
          'a2a-version': String(headers['a2a-version'] ?? '1.0'),
        },
        ...(method === 'POST' && { body }),
      }).then(async (passed) => {
        response.writeHead(passed.status, {
          'content-type': passed.headers.get('content-type') ?? 'application/json',
        });
        const text = await passed.text();
        response.end(text.replaceAll(url, address));
      });
    });
  });
  await new Promise<void>((resolve) => gate.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(gate.address() as AddressInfo).port}`;
  open.push({
    close: () =>
      new Promise((resolve) => {
        gate.close(() => resolve());
        gate.closeAllConnections();
      }),
  });
  return address;
}

function talkTo(card: string, configuration = '', options: TalkOptions = {}) {
  return talk({
    ...options,
    files: {
      'sub_agents/finder/config.yml': `
agent: {name: finder, protocol: a2a, description: Finds a hotel.}
configuration: {agent_card: "${card}"${configuration}}
`,
      ...options.files,
    },
  });
}

/** Asks once, notes what it was told. */
function asking(heard: Turn['message'][] = []): Agent {
  return agent({ name: 'hotels' }, async function* (turn) {
    heard.push(turn.message);
    yield working('Looking around.');
    if (!turn.isContinuation) {
      yield artifact(data({ hotels: ['Ritz'] }), { artifactId: 'list', name: 'hotel_list' });
      yield inputRequired('Which hotel?');
      return;
    }
    yield artifact(data({ hotel: textOf(turn.message) }), { name: 'choice' });
    yield completed('Fine.');
  });
}

for (const streaming of [true, false]) {
  for (const version of ['1.0', '0.3'] as const) {
    test(`an agent elsewhere asks, is answered, and completes (${version}, streaming: ${streaming})`, async () => {
      const heard: Turn['message'][] = [];
      const { url } = await serving(asking(heard), { streaming });
      const card = (await (await fetch(`${url}/.well-known/agent-card.json`)).json()) as {
        supportedInterfaces?: { protocolVersion: string }[];
      };
      const offered = (card.supportedInterfaces ?? []).filter(
        ({ protocolVersion }) => protocolVersion === version,
      );
      await using one = await talkTo('card.json', ', polling_initial_delay: 0.01', {
        files: {
          'sub_agents/finder/card.json': JSON.stringify({ ...card, supportedInterfaces: offered }),
        },
      });
      const { chat } = one;
      const first = await chat.say('to Rome', start('chat'), set('city', 'Rome'));
      // A poll may come after the words on the way.
      expect(first.at(-1)).toBe('Which hotel?');
      if (streaming) expect(first).toEqual(['Looking around.', 'Which hotel?']);
      expect(chat.outcome.waitingAgent).toBe('finder');
      const second = await chat.say('the Ritz', continueAgent);
      expect(second.slice(-2)).toEqual(['Fine.', 'Booked None.']);
      expect(heard).toHaveLength(2);
      expect(heard[1]?.taskId).toBe(heard[0]?.taskId);
      expect(heard[1]?.contextId).toBe(heard[0]?.contextId);
    });
  }
}

test('an agent elsewhere is called over gRPC where that is all it offers, credentials included', async () => {
  const heard: Turn['message'][] = [];
  const keys = [{ key: 'Key-hunter2', subject: 'us' }];
  const { router } = await serving(asking(heard), {
    auth: new Authenticator({ verifiers: [apiKeyVerifier({ keys })] }),
  });
  open.unshift(await serveGrpc(router));
  const { current } = router.cards;
  const supportedInterfaces = current.supportedInterfaces.filter(
    ({ protocolBinding }) => protocolBinding === 'GRPC',
  );
  const card = JSON.stringify({ ...current, supportedInterfaces });
  const files = { 'sub_agents/finder/card.json': card };
  const auth = `, auth: {api_key: "\${HOTEL_KEY}", header_name: X-Api-Key, header_format: "Key-{key}"}`;
  const environment = { HOTEL_KEY: 'hunter2' };
  await using one = await talkTo('card.json', auth, {
    files,
    environment,
    bindings: [grpcBinding()],
  });
  const { chat } = one;
  const first = await chat.say('to Rome', start('chat'), set('city', 'Rome'));
  expect(first).toEqual(['Looking around.', 'Which hotel?']);
  const second = await chat.say('the Ritz', continueAgent);
  expect(second.slice(-2)).toEqual(['Fine.', 'Booked None.']);
  expect(heard[1]?.taskId).toBe(heard[0]?.taskId);
  await expect(talkTo('card.json', auth, { files, environment })).rejects.toThrow(
    /lists GRPC 1\.0, GRPC 0\.3, and this client speaks JSONRPC and HTTP\+JSON over http and https, in/,
  );
});

test('an agent that names its conversations itself is asked again without our name for it', async () => {
  const heard: Turn['message'][] = [];
  const { url } = await serving(asking(heard));
  let refused = 0;
  const gate = await gateTo(url, ({ id, message }) => {
    if (message?.contextId === undefined || message.taskId !== undefined) return undefined;
    refused += 1;
    const error = { code: -32602, message: 'no such context' };
    return { status: 200, body: JSON.stringify({ jsonrpc: '2.0', id, error }) };
  });
  await using one = await talkTo(gate);
  const first = await one.chat.say('to Rome', start('chat'), set('city', 'Rome'));
  expect(first).toEqual(['Looking around.', 'Which hotel?']);
  const second = await one.chat.say('the Ritz', continueAgent);
  expect(second.slice(-2)).toEqual(['Fine.', 'Booked None.']);
  expect(refused).toBe(1);
  // The name that counts from then on is the agent's own.
  expect(heard[1]?.contextId).toBe(heard[0]?.contextId);
});

test('the message holds the words, slots and history, and all of the metadata', async () => {
  const heard: Turn['message'][] = [];
  const { url } = await serving(asking(heard));
  await using one = await talkTo(url);
  await one.chat.say('to Rome', start('trip'), set('city', 'Rome'));
  expect(heard[0]?.parts).toEqual([
    { text: 'to Rome' },
    {
      data: {
        slots: { city: 'Rome', customer: 'ada' },
        conversation_history: 'USER: to Rome',
      },
    },
  ]);
  expect(heard[0]?.metadata).toMatchObject({
    sender_id: 'ada',
    agent_id: 'finder',
    flow_id: 'trip',
    exit_if: ['slots.hotel is not null'],
  });
  await one.chat.say('the Ritz', continueAgent);
  expect(heard[1]?.metadata).toMatchObject({
    context_id: heard[1]?.contextId,
    task_id: heard[1]?.taskId,
  });
  const text = JSON.stringify(heard[1]?.parts[1]?.data);
  expect(text).toContain('AGENT finder: Which hotel?');
});

test('hooks shape what goes out and make slots of what comes back; exit_if counts after them', async () => {
  const heard: Turn['message'][] = [];
  const { url } = await serving(asking(heard));
  await using one = await talkTo(url, ', module: ./agent.ts', {
    files: {
      'sub_agents/finder/agent.ts': `
export const processInput = (input) => ({
  ...input,
  slots: input.slots.filter(({ name }) => name === 'city'),
  metadata: { ...input.metadata, ticket: 'T1' },
});
export const processAgentOutput = (output) => ({
  ...output,
  events: (output.structuredResults ?? []).flat()
    .filter(({ name }) => name === 'hotel_list')
    .map(({ result }) => ({ event: 'slot', name: 'hotel', value: result.hotels[0] })),
});
export const processOutput = (output) => ({ ...output, responseMessage: undefined });
`,
    },
  });
  const { chat } = one;
  expect(await chat.say('to Rome', start('trip'), set('city', 'Rome'))).toEqual([
    'Looking around.',
    'Booked Ritz.',
  ]);
  expect(chat.slot('hotel')).toBe('Ritz');
  expect(heard[0]?.parts[1]?.data).toMatchObject({ slots: { city: 'Rome' } });
  expect(heard[0]?.metadata).toMatchObject({ ticket: 'T1' });
  // Nobody is going to answer the question of the agent.
  const { tasks } = await (await connect(url)).listTasks({});
  expect(tasks.map(({ status }) => status.state)).toEqual(['TASK_STATE_CANCELED']);
});

test('after an interruption the open question is asked again, and nothing is sent that was no answer', async () => {
  const heard: Turn['message'][] = [];
  const { url } = await serving(asking(heard));
  await using one = await talkTo(url);
  const { chat } = one;
  await chat.say('to Rome', start('trip'), set('city', 'Rome'));
  await chat.say('weather?', start('weather'));
  expect(await chat.say('yes', proceed)).toEqual(['Which hotel?']);
  expect(heard).toHaveLength(1);
  // A correction is news to the agent.
  expect((await chat.say('no, Paris', set('city', 'Paris'))).slice(1)).toEqual([
    'Looking around.',
    'Fine.',
    'Booked None.',
  ]);
  expect(heard[1]?.parts[1]?.data).toMatchObject({ slots: { city: 'Paris' } });
  expect(heard[1]?.metadata).toMatchObject({ resumed_after_interruption: true });
});

/** A conversation that was interrupted while the agent asked, and whose task continues without it. */
async function goneOn(configuration: string, options: ServeOptions = {}) {
  const busy = agent({ name: 'busy' }, async function* (turn) {
    if (!turn.isContinuation) {
      yield inputRequired('Which hotel?');
      return;
    }
    yield working('On it.');
    await new Promise((resolve) => {
      turn.signal.addEventListener('abort', resolve, { once: true });
    });
  });
  const { url } = await serving(busy, options);
  const client = await connect(url);
  open.unshift(client);
  const one = await talkTo(url, `, polling_initial_delay: 0.01, ${configuration}`);
  await one.chat.say('hello', start('chat'));
  await one.chat.say('weather?', start('weather'));
  const taskId = (await client.listTasks({})).tasks[0]?.id ?? '';
  const answer = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'the Ritz' }] } as const;
  const configured = { returnImmediately: true };
  await client.sendMessage({ message: { ...answer, taskId }, configuration: configured });
  const state = async () => (await client.getTask(taskId)).status.state;
  return { one, state };
}

const proceed = set('continue_interrupted_flow_confirmation', true);

for (const streaming of [true, false]) {
  test(`a task that continues without us after an interruption is cancelled when its time is over (streaming: ${streaming})`, async () => {
    const key = streaming ? 'timeout' : 'max_polling_time';
    const { one, state } = await goneOn(`${key}: 0.3`, { streaming });
    await using _ = one;
    expect((await one.chat.say('yes', proceed)).at(-1)).toBe(APOLOGY);
    await expect.poll(state, { timeout: 10_000 }).toBe('TASK_STATE_CANCELED');
  });
}

test('a task that continues without us after an interruption is left at work after `background_after`', async () => {
  const { one, state } = await goneOn('background_after: 0');
  await using _ = one;
  expect((await one.chat.say('yes', proceed)).at(-1)).toMatch('I am still working');
  expect(await state()).toBe('TASK_STATE_WORKING');
});

test('an answer to a task that was ended elsewhere starts another one', async () => {
  const heard: Turn['message'][] = [];
  const { url } = await serving(asking(heard));
  const client = await connect(url);
  await using one = await talkTo(url);
  const { chat } = one;
  await chat.say('hello', start('chat'));
  const { tasks } = await client.listTasks({});
  await client.cancelTask(tasks[0]?.id ?? '');
  // The answer finds its task ended: it begins another one of the same conversation.
  expect((await chat.say('the Ritz', continueAgent)).at(-1)).toBe('Which hotel?');
  expect(heard[1]?.taskId).not.toBe(heard[0]?.taskId);
  expect(heard[1]?.contextId).toBe(heard[0]?.contextId);
  expect(await chat.say('the Savoy', continueAgent)).toContain('Fine.');
});

test('a plain message never completes', async () => {
  const { url } = await serving(
    agent({ name: 'quick', replies: 'message' }, async function* (turn) {
      yield reply(`You said ${textOf(turn.message)}.`);
    }),
  );
  await using one = await talkTo(url);
  expect(await one.chat.say('hello', start('chat'))).toEqual(['You said hello.']);
  expect(await one.chat.say('again', continueAgent)).toEqual(['You said again.']);
  expect(one.chat.outcome.waitingAgent).toBe('finder');
  // After an interruption it says what it said: there is no task to look at.
  expect((await one.chat.say('nice day', chitchat)).at(-1)).toBe('You said again.');
});

test('an agent that fails, rejects or wants a login ends the flow with one message: why, or an apology', async () => {
  for (const [end, told] of [
    [failed('broken: key hunter2'), APOLOGY],
    [rejected(data({ reason: 'closed' })), APOLOGY],
    [rejected('We sell no hotels there.'), 'We sell no hotels there.'],
    [authRequired('Log in at hotels.example first.'), 'Log in at hotels.example first.'],
  ] as const) {
    const { url } = await serving(
      agent({ name: 'no' }, async function* () {
        yield end;
      }),
    );
    await using one = await talkTo(url);
    expect(await one.chat.say('hello', start('chat'))).toEqual([told]);
    expect(one.chat.outcome.error).toMatchObject({ type: 'agent_failed' });
    expect(one.chat.flowEvents).toEqual([
      'flow_started chat',
      'agent_started finder',
      'agent_cancelled finder',
      'flow_cancelled chat',
    ]);
    expect(one.waits).toEqual([]);
  }
});

test('errors that may pass are tried again, three times with growing waits, with one and the same message', async () => {
  const heard: Turn['message'][] = [];
  const { url } = await serving(asking(heard));
  let failures = 3;
  const ids: string[] = [];
  const gate = await gateTo(url, ({ message }) => {
    if (message === undefined) return undefined;
    ids.push(message.messageId);
    failures -= 1;
    return failures >= 0 ? { status: 503 } : undefined;
  });
  await using one = await talkTo(gate);
  expect((await one.chat.say('hello', start('chat'))).at(-1)).toBe('Which hotel?');
  expect(one.waits).toEqual([500, 1000, 2000]);
  expect(ids).toHaveLength(4);
  expect(new Set(ids).size).toBe(1);
  failures = 4;
  await using other = await talkTo(gate);
  expect(await other.chat.say('hello', start('chat'))).toEqual([APOLOGY]);
  expect(other.waits).toHaveLength(3);
});

test('the time for an answer is limited, and the task there is cancelled', async () => {
  const left: string[] = [];
  const slow = agent({ name: 'slow' }, async function* (turn) {
    yield working('On it.');
    await new Promise((resolve) => {
      turn.signal.addEventListener('abort', resolve, { once: true });
    });
    left.push('cancelled');
  });
  for (const streaming of [true, false]) {
    const { url } = await serving(slow, { streaming });
    const key = streaming ? 'timeout' : 'max_polling_time';
    await using one = await talkTo(url, `, ${key}: 0.5, polling_initial_delay: 0.01`);
    const said = await one.chat.say('hello', start('chat'));
    expect(said.at(-1)).toBe(APOLOGY);
  }
  await expect.poll(() => left, { timeout: 10_000 }).toEqual(['cancelled', 'cancelled']);
});

test('cancelling the flow cancels the task that waits elsewhere; aborting the turn cancels the one at work', async () => {
  const states: string[] = [];
  const patient: Agent = {
    ...asking(),
    abandon: async () => {
      states.push('abandoned');
      return undefined;
    },
  };
  const { url } = await serving(patient);
  await using one = await talkTo(url);
  await one.chat.say('hello', start('chat'));
  await one.chat.say('stop', cancel);
  expect(one.chat.flowEvents).toEqual(['agent_cancelled finder', 'flow_cancelled chat']);
  await expect.poll(() => states, { timeout: 10_000 }).toEqual(['abandoned']);

  const entered = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const busy = await serving(
    agent({ name: 'busy' }, async function* (turn) {
      if (!turn.isContinuation) {
        yield inputRequired('Which hotel?');
        return;
      }
      yield working('On it.');
      entered.resolve();
      await new Promise((resolve) => {
        turn.signal.addEventListener('abort', resolve, { once: true });
      });
      left.resolve();
    }),
  );
  await using other = await talkTo(busy.url);
  await other.chat.say('hello', start('chat'));
  const leaving = new AbortController();
  const turn = other.chat.send({ text: 'the Ritz', signal: leaving.signal });
  await entered.promise;
  leaving.abort(new Error('gone'));
  await expect(turn).rejects.toThrow('gone');
  await left.promise;
});

test.each([false, true])(
  'a shutdown cancels the task elsewhere unless the turn runs again (runs again: %s)',
  async (handsOver) => {
    const entered = Promise.withResolvers<string>();
    const stopped = Promise.withResolvers<void>();
    const busy = await serving(
      agent({ name: 'busy' }, async function* (turn) {
        if (!turn.isContinuation) return yield inputRequired('Which hotel?');
        entered.resolve(turn.taskId);
        await new Promise<void>((resolve) => {
          turn.signal.addEventListener('abort', () => resolve(), { once: true });
        });
        stopped.resolve();
      }),
    );
    await using one = await talkTo(busy.url);
    await one.chat.say('hello', start('chat'));
    const leaving = new AbortController();
    const said = one.chat.send({ text: 'the Ritz', signal: leaving.signal });
    const taskId = await entered.promise;
    leaving.abort(new TurnStopped('shutdown', { handsOver }));
    await expect(said).rejects.toThrow('shutdown');
    if (!handsOver) await stopped.promise;
    await using client = await connect(busy.url);
    const { status } = await client.getTask(taskId);
    expect(status.state).toBe(handsOver ? 'TASK_STATE_WORKING' : 'TASK_STATE_CANCELED');
  },
);

test('an agent that answers with more than is kept fails, and its task is cancelled', async () => {
  const rows = Array.from({ length: 2_500 }, (_, row) => data({ row }));
  const { url } = await serving(
    agent({ name: 'talkative' }, async function* (turn) {
      for (let count = 0; count < 5; count += 1) yield artifact(rows);
      await new Promise((resolve) => {
        turn.signal.addEventListener('abort', resolve, { once: true });
      });
    }),
  );
  await using one = await talkTo(url);
  expect(await one.chat.say('hello', start('chat'))).toEqual([APOLOGY]);
  await expectCanceled(url);
  const told = one.logged.filter(({ event }) => event === 'sub_agent.external.failed');
  expect(String(told[0]?.fields['error'])).toContain('more than 10000 parts');
});

/** Its callers learn nothing, not even that there is a task, before it speaks. */
function silent() {
  const entered = Promise.withResolvers<void>();
  const spoken = Promise.withResolvers<void>();
  const made = agent({ name: 'silent', replies: 'message' }, async function* (turn) {
    entered.resolve();
    const stopped = new Promise<void>((resolve) => {
      turn.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await Promise.race([spoken.promise, stopped]);
    yield working('At last.');
    await stopped;
  });
  return { made, entered: entered.promise, speak: () => spoken.resolve() };
}

async function expectCanceled(url: string): Promise<void> {
  const client = await connect(url);
  const states = async () => (await client.listTasks({})).tasks.map(({ status }) => status.state);
  await expect.poll(states, { timeout: 15_000 }).toEqual(['TASK_STATE_CANCELED']);
}

for (const binding of ['JSONRPC', 'HTTP+JSON', 'GRPC']) {
  for (const version of ['1.0', '0.3']) {
    test(`aborting the turn before the agent has said anything cancels its task (${binding}, ${version})`, async () => {
      const { made, entered, speak } = silent();
      const server = await serving(made);
      open.unshift(await serveGrpc(server.router));
      const { current } = server.router.cards;
      const supportedInterfaces = current.supportedInterfaces.filter(
        (one) => one.protocolBinding === binding && one.protocolVersion === version,
      );
      await using one = await talkTo('./card.json', '', {
        files: { 'card.json': JSON.stringify({ ...current, supportedInterfaces }) },
        bindings: [grpcBinding()],
      });
      const leaving = new AbortController();
      const turn = one.chat.send({ text: 'hello', signal: leaving.signal }, start('chat'));
      await entered;
      leaving.abort(new Error('gone'));
      await expect(turn).rejects.toThrow('gone');
      // gRPC 0.3 cannot list tasks: there it is the first event that names the task.
      if (binding === 'GRPC' && version === '0.3') speak();
      await expectCanceled(server.url);
    });
  }
}

test('the time for an answer is limited for an agent that says nothing, and its task is cancelled', async () => {
  const { made } = silent();
  const { url } = await serving(made);
  await using one = await talkTo(url, ', timeout: 0.5');
  expect(await one.chat.say('hello', start('chat'))).toEqual([APOLOGY]);
  await expectCanceled(url);
});

test('closing a project cancels the tasks of aborted messages first', async () => {
  const { made, entered } = silent();
  const { url } = await serving(made);
  {
    await using one = await talkTo(url);
    const leaving = new AbortController();
    const turn = one.chat.send({ text: 'hello', signal: leaving.signal }, start('chat'));
    await entered;
    leaving.abort(new Error('gone'));
    await expect(turn).rejects.toThrow('gone');
  }
  const { tasks } = await (await connect(url)).listTasks({});
  expect(tasks).toMatchObject([{ status: { state: 'TASK_STATE_CANCELED' } }]);
});

test('the start fails, warns or continues when the agent is not there', async () => {
  const gone = 'http://127.0.0.1:9';
  await expect(talkTo(gone, ', startup_check: fail')).rejects.toThrow(
    /sub agent finder does not answer: .*startup_check to warn or lazy/,
  );
  await using warned = await talkTo(gone);
  await expect
    .poll(() => warned.logged.map(({ event }) => event), { timeout: 10_000 })
    .toContain('sub_agent.startup_check_failed');
  await using lazy = await talkTo(gone, ', startup_check: lazy, max_retries: 0');
  expect(lazy.logged).toEqual([]);
  expect(await lazy.chat.say('hello', start('chat'))).toEqual([APOLOGY]);
  expect(await lazy.chat.say('weather?', start('weather'))).toEqual(['Sunny.']);
});

test('credentials come from the environment and reach the agent', async () => {
  const keys = [{ key: 'Key-hunter2', subject: 'us' }];
  const { url } = await serving(asking(), {
    auth: new Authenticator({ verifiers: [apiKeyVerifier({ keys })] }),
  });
  const auth = (header: string) =>
    `, auth: {api_key: "\${HOTEL_KEY}", header_name: ${header}, header_format: "Key-{key}"}`;
  const environment = { HOTEL_KEY: 'hunter2' };
  await using one = await talkTo(url, auth('X-Api-Key'), { environment });
  expect((await one.chat.say('hello', start('chat'))).at(-1)).toBe('Which hotel?');
  expect(JSON.stringify(one.logged)).not.toContain('hunter2');
  await expect(talkTo(url, auth('X-Other-Key'), { environment })).rejects.toThrow(
    /sub agent finder does not answer/,
  );
});

/** A token endpoint that knows one client. */
async function tokenServer(token: string): Promise<{ url: string; asked: URLSearchParams[] }> {
  const asked: URLSearchParams[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (piece: Buffer) => (body += piece.toString()));
    request.on('end', () => {
      asked.push(new URLSearchParams(body));
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ access_token: token, token_type: 'Bearer', expires_in: 3600 }));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.push({
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`, asked };
}

test.each(['token', 'oauth'])(
  'a %s reaches a real agent, and another does not pass',
  async (kind) => {
    const heard: Turn['message'][] = [];
    const { url } = await serving(asking(heard), {
      auth: new Authenticator({
        verifiers: [bearerTokenVerifier({ tokens: [{ token: 'hunter2', subject: 'us' }] })],
      }),
    });
    const { url: tokenUrl, asked } = await tokenServer('hunter2');
    const oauth = (at: string) =>
      `, auth: {oauth: {client_id: us, client_secret: "\${SECRET}", token_url: "${at}", scope: hotels}}`;
    const auth = kind === 'token' ? `, auth: {token: "\${SECRET}"}` : oauth(tokenUrl);
    await using one = await talkTo(url, auth, {
      environment: { SECRET: kind === 'token' ? 'hunter2' : 'pass' },
    });
    expect((await one.chat.say('hello', start('chat'))).at(-1)).toBe('Which hotel?');
    expect((await one.chat.say('the Ritz', continueAgent)).slice(-2)).toEqual([
      'Fine.',
      'Booked None.',
    ]);
    expect(heard).toHaveLength(2);
    expect(JSON.stringify([one.logged, one.chat.tracker])).not.toMatch(/hunter2|pass"/);
    if (kind === 'oauth') {
      // One token serves every call until it expires.
      expect(asked).toHaveLength(1);
      expect(asked[0]?.get('grant_type')).toBe('client_credentials');
      expect(asked[0]?.get('scope')).toBe('hotels');
    }
    const wrong = kind === 'token' ? auth : oauth((await tokenServer('other')).url);
    await expect(talkTo(url, wrong, { environment: { SECRET: 'wrong' } })).rejects.toThrow(
      /sub agent finder does not answer/,
    );
  },
);

test('the text of an agent elsewhere is shown as it arrives, and not sent again', async () => {
  const gate = Promise.withResolvers<void>();
  const finder = await serving(
    agent({ name: 'finder' }, async function* () {
      yield 'The Ritz';
      await gate.promise;
      yield ' has a room.';
    }),
  );
  await using folder = await projectFolder({
    ...trip,
    'domain.yml': `session_config: {start_session_after_expiry: false}${trip['domain.yml'] ?? ''}`,
    'config.yml': 'pipeline: [{name: MatchingCommandGenerator}]\n',
    'endpoints.yml': 'store: {type: memory}\na2a_server: {description: Plans trips.}\n',
    'sub_agents/finder/config.yml': `
agent: {name: finder, description: Finds a hotel., protocol: A2A}
configuration: {agent_card: "${finder.url}/.well-known/agent-card.json"}
`,
  });
  await using desk = await serveAssistant({ places: { directory: folder.directory }, drainMs: 0 });
  const client = await connect(desk.url);
  const texts: string[] = [];
  let last = '';
  for await (const { response: event } of client.sendStreamingMessage('travel advice')) {
    if ('artifactUpdate' in event) {
      texts.push(event.artifactUpdate.artifact.parts.map(({ text = '' }) => text).join(''));
      gate.resolve();
    }
    if ('statusUpdate' in event) {
      last = JSON.stringify(event.statusUpdate.status.message?.parts ?? []);
    }
  }
  expect(texts.join('')).toBe('The Ritz has a room.');
  expect(texts.length).toBeGreaterThan(1);
  expect(last).toContain(
    '"text":"The Ritz has a room.","metadata":{"message":{"metadata":{"streamed":true}}}',
  );
});
