import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { rabbitMq } from '../../../test/support/rabbitmq.ts';
import { agent, completed, inputRequired, textOf, working } from '../../agents/index.ts';
import { joinPeers } from '../../peers/index.ts';
import { apiKeyVerifier, Authenticator } from '../../auth/index.ts';
import { connect } from '../../client/index.ts';
import { artifact, data, message } from '../../protocol/index.ts';
import { generateSigningKey, publicKeySet, type SigningKey } from '../../push/index.ts';
import { openMemory, openMemoryReplicas } from '../../store/index.ts';
import { gateway } from '../gateway/gateway.ts';
import { declareAgentQueue, hostOnBus } from '../host/host.ts';
import { readBusIdentity } from '../identity/read-identity.ts';
import { MessageSigner } from '../identity/signer.ts';
import { MessageVerifier } from '../identity/verifier.ts';
import { busLink } from '../link/bus-link.ts';
import { eventually, nameOf, TestCaller } from '../testing.contract.ts';
import type { Bus } from '../transport/bus.ts';
import { openBus } from '../transport/open-bus.ts';
import { taskQueueName } from '../transport/topics.ts';
import { rockbotQueueName } from './rockbot-broker.ts';
import { type Envelope, RockbotPeer } from './rockbot.contract.ts';

// Starting the server takes long on a busy machine.
beforeAll(async () => void (await rabbitMq()), 180_000);

async function place(): Promise<{ bus: Bus; exchange: string; url: string }> {
  const { url } = await rabbitMq();
  const exchange = nameOf('rockbot');
  return {
    url,
    exchange,
    bus: await openBus({ type: 'rabbitmq', url, exchange, dialect: 'rockbot' }),
  };
}

const said = (...texts: readonly string[]) => ({
  role: 'user',
  parts: texts.map((text) => ({ kind: 'text', text })),
});

function textIn({ message: heard }: Envelope['body']): string | undefined {
  return (heard as { parts: { text: string }[] } | undefined)?.parts[0]?.text;
}

describe('RockBot calls an agent of ours', () => {
  test('a task is answered with its states as integers, its published progress, and its text', async () => {
    const { bus, exchange, url } = await place();
    await using _bus = bus;
    const name = nameOf('Researcher');
    const caller = nameOf('RockBot');
    const heard: unknown[] = [];
    const researcher = agent({ name, skills: ['research'] }, async function* (turn) {
      heard.push([textOf(turn.message), turn.message.metadata, turn.caller.displayName]);
      yield working('Looking around');
      yield artifact([{ text: 'Bees see ' }, data({ ultraviolet: true }), { text: 'more.' }]);
      yield completed('Two sources.');
    });
    await using _host = await hostOnBus(researcher, { bus, store: openMemory() });
    await using rockbot = await RockbotPeer.start({
      url,
      exchange,
      name: caller,
      topics: [`agent.response.${caller}`, 'agent.task.status', 'discovery.announce'],
    });
    const taskId = randomUUID();
    await rockbot.publish(
      `agent.task.${name}`,
      'AgentTaskRequest',
      {
        taskId,
        contextId: 'c-1',
        skill: 'research',
        message: said('How?'),
        metadata: { depth: '2' },
      },
      { correlationId: taskId, replyTo: `agent.response.${caller}` },
    );
    await eventually(() => rockbot.of('AgentTaskResult').length).toBe(1);
    expect(heard).toEqual([['How?', { depth: '2', skill: 'research' }, caller]]);
    expect(rockbot.of('AgentTaskResult')[0]).toMatchObject({
      topic: `agent.response.${caller}`,
      correlationId: taskId,
      headers: { 'rb-source': name },
      body: {
        taskId,
        contextId: 'c-1',
        state: 3,
        message: {
          role: 'agent',
          parts: [
            // All of it in one text, the only one that RockBot reads.
            { kind: 'text', text: 'Bees see more.\nTwo sources.' },
            { kind: 'data', data: '{"ultraviolet":true}', mimeType: 'application/json' },
          ],
        },
      },
    });
    const states = rockbot.of('AgentTaskStatusUpdate').map(({ body }) => body);
    expect(states).toContainEqual(
      expect.objectContaining({
        taskId,
        state: 1,
        message: { role: 'agent', parts: [{ kind: 'text', text: 'Looking around' }] },
      }),
    );
    // RockBot runs a turn of its model for every other state.
    expect(states.map(({ state }) => state)).toEqual(states.map(() => 1));
    // What a trigger of KEDA looks at.
    expect(rockbotQueueName(taskQueueName('ResearchAgent'))).toBe(
      'rockbot.ResearchAgent.agent-task-ResearchAgent',
    );
    expect(await bus.inspect(taskQueueName(name))).toMatchObject({ messages: 0, consumers: 1 });
  });

  test('a question is answered under the same task; nothing runs twice; errors and cancels are understood', async () => {
    const { bus, exchange, url } = await place();
    await using _bus = bus;
    const name = nameOf('Asker');
    const heard: string[] = [];
    const asker = agent({ name, serialise: 'task' }, async function* (turn) {
      const text = textOf(turn.message);
      heard.push(text);
      if (text === 'wait')
        await new Promise((_, reject) => turn.signal.addEventListener('abort', reject));
      yield turn.isContinuation ? completed(`You said ${text}`) : inputRequired('Which day?');
    });
    await using _host = await hostOnBus(asker, { bus, store: openMemory() });
    await using rockbot = await RockbotPeer.start({
      url,
      exchange,
      name: nameOf('RockBot'),
      topics: ['agent.response.gateway.alice'],
    });
    const replyTo = 'agent.response.gateway.alice';
    const ask = (taskId: string, text: string, messageId?: string): Promise<string> =>
      rockbot.publish(
        `agent.task.${name}`,
        'AgentTaskRequest',
        { taskId, contextId: null, skill: 'negotiate-meeting', message: said(text) },
        { correlationId: taskId, replyTo, ...(messageId !== undefined && { messageId }) },
      );
    const taskId = randomUUID();
    const first = await ask(taskId, 'Meet me');
    await eventually(() => rockbot.of('AgentTaskResult').length).toBe(1);
    expect(rockbot.of('AgentTaskResult')[0]?.body).toMatchObject({
      taskId,
      state: 2,
      message: { parts: [{ kind: 'text', text: 'Which day?' }] },
    });
    // The broker may deliver a message again.
    await ask(taskId, 'Meet me', first);
    await eventually(() => rockbot.of('AgentTaskResult').length).toBe(2);
    expect(heard).toEqual(['Meet me']);
    await ask(taskId, 'Tuesday');
    await eventually(() => rockbot.of('AgentTaskResult').at(-1)?.body.state).toBe(3);
    expect(rockbot.of('AgentTaskResult').at(-1)?.body).toMatchObject({
      taskId,
      message: { parts: [{ text: 'You said Tuesday' }] },
    });
    expect(heard).toEqual(['Meet me', 'Tuesday']);

    await rockbot.publish(
      `agent.task.${name}`,
      'AgentTaskRequest',
      { taskId: 'x', message: 7 },
      {
        correlationId: 'x',
        replyTo,
      },
    );
    await eventually(() => rockbot.of('AgentTaskError').length).toBe(1);
    expect(rockbot.of('AgentTaskError')[0]?.body).toMatchObject({
      taskId: 'x',
      code: 'invalid_request',
      // In the words of its sender, whose body it is.
      message: expect.stringMatching(/^message: .*object/) as unknown,
      isRetryable: false,
    });
    await eventually(() => bus.inspect(taskQueueName(name))).toMatchObject({ deadLetters: 1 });

    const long = randomUUID();
    await ask(long, 'wait');
    await eventually(() => heard.at(-1)).toBe('wait');
    await rockbot.publish(
      `agent.task.cancel.${name}`,
      'AgentTaskCancelRequest',
      { taskId: long },
      {
        correlationId: long,
        replyTo,
      },
    );
    const ends = () => rockbot.of('AgentTaskResult').filter(({ body }) => body.taskId === long);
    await eventually(() => ends().map(({ body }) => body.state)).toEqual([5]);
  });

  test('a caller of its gateway is answered, whatever its id', async () => {
    const { bus, exchange, url } = await place();
    await using _bus = bus;
    const name = nameOf('Echo');
    const echo = agent({ name }, () => completed('heard'));
    await using _host = await hostOnBus(echo, { bus, store: openMemory() });
    const replyTo = 'agent.response.gateway.auth0|ada@example.com';
    await using rockbot = await RockbotPeer.start({
      url,
      exchange,
      name: nameOf('Gateway'),
      topics: [replyTo],
    });
    const request = { taskId: 't-1', skill: 'any', message: said('hello') };
    const addressed = { correlationId: 't-1', replyTo };
    await rockbot.publish(`agent.task.${name}`, 'AgentTaskRequest', request, addressed);
    await eventually(() => rockbot.of('AgentTaskResult').map(({ body }) => body.state)).toEqual([
      3,
    ]);
  });

  test.each([
    ['too long for a correlation id', 'é'.repeat(128)],
    ['with a control character', 'a\0b'],
  ])('a task id that is %s is refused at once', async (_what, taskId) => {
    const { bus, exchange, url } = await place();
    await using _bus = bus;
    const name = nameOf('Echo');
    const echo = agent({ name }, () => completed('heard'));
    await using _host = await hostOnBus(echo, { bus, store: openMemory() });
    const topics = ['agent.response.me'];
    await using rockbot = await RockbotPeer.start({ url, exchange, name: nameOf('Bot'), topics });
    const request = { taskId, skill: 'any', message: said('hello') };
    const addressed = { correlationId: 'mine', replyTo: 'agent.response.me' };
    await rockbot.publish(`agent.task.${name}`, 'AgentTaskRequest', request, addressed);
    await eventually(() => rockbot.received.map(({ body }) => body)).toEqual([
      expect.objectContaining({
        taskId: 'mine',
        code: 'invalid_request',
        message: expect.stringMatching(/^taskId: must/) as unknown,
      }),
    ]);
  });

  test('what RockBot hears of a question and its follow-up is progress, the question, progress, the answer', async () => {
    const { bus, exchange, url } = await place();
    await using _bus = bus;
    const name = nameOf('Asker');
    const asker = agent({ name }, async function* (turn) {
      yield working(`Reading ${textOf(turn.message)}`);
      yield turn.isContinuation ? completed('Booked for Tuesday') : inputRequired('Which day?');
    });
    await using _host = await hostOnBus(asker, { bus, store: openMemory() });
    await using rockbot = await RockbotPeer.start({
      url,
      exchange,
      name: nameOf('RockBot'),
      topics: ['agent.response.me', 'agent.task.status'],
    });
    const taskId = randomUUID();
    const ask = (text: string): Promise<string> =>
      rockbot.publish(
        `agent.task.${name}`,
        'AgentTaskRequest',
        { taskId, skill: 'negotiate-meeting', message: said(text) },
        { correlationId: taskId, replyTo: 'agent.response.me' },
      );
    const results = () =>
      rockbot.of('AgentTaskResult').map(({ body }) => [body.state, textIn(body)]);
    await ask('Meet me');
    await eventually(results).toEqual([[2, 'Which day?']]);
    await ask('Tuesday');
    await eventually(results).toEqual([
      [2, 'Which day?'],
      [3, 'Booked for Tuesday'],
    ]);
    const heard = () => rockbot.of('AgentTaskStatusUpdate').map(({ body }) => body);
    await eventually(() => heard().map(textIn).filter(Boolean)).toEqual([
      'Reading Meet me',
      'Reading Tuesday',
    ]);
    expect(heard().map(({ state }) => state)).toEqual(heard().map(() => 1));
  });

  test('queues that ours has made are those that RockBot makes', async () => {
    const { bus, exchange, url } = await place();
    await using _bus = bus;
    const name = nameOf('ResearchAgent');
    await declareAgentQueue(bus, name);
    // The broker refuses a declaration with other arguments.
    await using rockbot = await RockbotPeer.start({
      url,
      exchange,
      name,
      topics: [`agent.task.${name}`, `agent.task.cancel.${name}`],
    });
    await bus.publish(`agent.task.${name}`, {
      type: 'task',
      body: JSON.stringify({ message: message('hello') }),
    });
    await eventually(() => rockbot.of('AgentTaskRequest').length).toBe(1);
  });

  test('settings that would change the arguments of its queues are refused', async () => {
    const { url } = await rabbitMq();
    const exchange = nameOf('rockbot');
    const name = nameOf('ResearchAgent');
    const queues = { maxMessages: 5, messageTtlMs: 1_000, deadLetters: { ttlMs: 1_000 } };
    const options = { type: 'rabbitmq', url, exchange, dialect: 'rockbot' } as const;
    await using bus = await openBus({ ...options, queues });
    await expect(declareAgentQueue(bus, name)).rejects.toMatchObject({
      code: 'CONFIGURATION_INVALID',
      message: expect.stringMatching(
        /^queues\.max_messages, queues\.message_ttl, queues\.dead_letter_ttl can't be set with dialect rockbot: RockBot deletes the queue/,
      ) as unknown,
    });
    await using allowed = await openBus({
      ...options,
      queues: { retryDelaysMs: [100], replyExpiresAfterMs: 60_000 },
    });
    expect(await declareAgentQueue(allowed, name)).not.toEqual([]);
  });

  test('agents announce themselves to each other, and leave', async () => {
    const { bus, exchange, url } = await place();
    await using _bus = bus;
    await using rockbot = await RockbotPeer.start({
      url,
      exchange,
      name: nameOf('RockBot'),
      topics: ['discovery.announce'],
    });
    await using network = await joinPeers({
      name: 'ours',
      store: openMemory(),
      links: [busLink({ bus })],
    });
    const host = await hostOnBus(
      agent({ name: 'ours', description: 'Ours', skills: ['echo'] }, async function* () {}),
      { bus, store: openMemory() },
    );
    await eventually(() => rockbot.of('AgentCard').length).toBe(1);
    expect(rockbot.of('AgentCard')[0]?.body).toMatchObject({
      agentName: 'ours',
      description: 'Ours',
      skills: [{ id: 'echo' }],
      isDeregistering: false,
    });
    await host.close();
    await eventually(() => rockbot.of('AgentCard').at(-1)?.body.isDeregistering).toBe(true);

    const skills = [{ id: 'research', name: 'Research', description: 'Looks things up' }];
    const card = { agentName: 'ResearchAgent', description: 'Searches', version: '1.0', skills };
    await rockbot.publish('discovery.announce', 'AgentCard', card);
    const known = async () =>
      (await network.directory.list({ skill: 'research' })).map((each) => each.name);
    await eventually(known).toEqual(['ResearchAgent']);
    await rockbot.publish('discovery.announce', 'AgentCard', { ...card, isDeregistering: true });
    await eventually(known).toEqual([]);
  });
});

/**
 * An agent of RockBot that reports progress, and asks, fails or answers by what it is told. It refuses to
 * cancel, and answers a task `late` after that.
 */
async function researchAgent(options: { url: string; exchange: string; name: string }) {
  const late = new Set<unknown>();
  return RockbotPeer.start({
    ...options,
    topics: [`agent.task.${options.name}`, `agent.task.cancel.${options.name}`],
    async onMessage(envelope: Envelope, peer: RockbotPeer) {
      const { correlationId, replyTo, body } = envelope;
      const ids = { taskId: body.taskId, contextId: body.contextId };
      if (envelope.type === 'RockBot.A2A.AgentTaskCancelRequest') {
        const error = {
          ...ids,
          code: 'task_not_cancelable',
          message: 'Stateless',
          isRetryable: false,
        };
        await peer.publish(replyTo, 'AgentTaskError', error, { correlationId });
        if (!late.has(body.taskId)) return;
        const said = { role: 'agent', parts: [{ kind: 'text', text: 'Found it after all' }] };
        const result = { ...ids, state: 3, message: said };
        await peer.publish(replyTo, 'AgentTaskResult', result, { correlationId });
        return;
      }
      const { parts } = body.message as { parts: { text: string }[] };
      const text = parts[0]?.text ?? '';
      const answer = (role: string, words: string) => ({
        role,
        parts: [{ kind: 'text', text: words }],
      });
      await peer.publish(
        'agent.task.status',
        'AgentTaskStatusUpdate',
        { ...ids, state: 1 },
        { correlationId },
      );
      await peer.publish(
        'agent.task.status',
        'AgentTaskStatusUpdate',
        { ...ids, state: 1, message: answer('agent', `Searching ${text}`) },
        { correlationId },
      );
      if (text === 'late') late.add(body.taskId);
      if (text === 'wait' || text === 'late') return;
      if (text === 'fail') {
        const error = {
          ...ids,
          code: 'execution_failed',
          message: 'No network',
          isRetryable: false,
        };
        await peer.publish(replyTo, 'AgentTaskError', error, { correlationId });
        return;
      }
      const state = text === 'ask' ? 2 : 3;
      const message = answer('agent', text === 'ask' ? 'About what?' : `Found ${text}`);
      await peer.publish(replyTo, 'AgentTaskResult', { ...ids, state, message }, { correlationId });
    },
  });
}

const session = { id: 'chat', caller: { tenant: '', subject: 'user', method: 'local' } };

describe('an agent of ours calls RockBot', () => {
  test('tasks, progress, questions, errors and cancels go over its wire', async () => {
    const { bus, exchange, url } = await place();
    await using _bus = bus;
    const name = nameOf('ResearchAgent');
    await using research = await researchAgent({ url, exchange, name });
    const progress: string[] = [];
    await using network = await joinPeers({
      name: 'ours',
      store: openMemory(),
      links: [busLink({ bus })],
      wellKnown: [{ name }],
    });
    const call = (message: string) =>
      network.invoker.invokeAndWait({ agent: name, skill: 'research', message }, session, {
        onProgress: (text: string) => void progress.push(text),
      });
    expect(await call('bees')).toMatchObject({ outcome: { text: 'Found bees' } });
    expect(research.received[0]).toMatchObject({
      type: 'RockBot.A2A.AgentTaskRequest',
      headers: { 'rb-source': 'ours', 'rb-destination': name },
      body: {
        skill: 'research',
        message: { role: 'user', parts: [{ kind: 'text', text: 'bees' }] },
      },
    });
    expect(research.received[0]?.correlationId).toBe(research.received[0]?.body.taskId);
    expect(await call('fail')).toMatchObject({
      outcome: { end: 'TASK_STATE_FAILED', text: 'No network' },
    });
    const asked = await call('ask');
    expect(JSON.stringify(asked)).toContain('About what?');
    await network.invoker.answer(asked.id, 'flowers');
    expect(await network.invoker.wait(asked.id)).toMatchObject({
      outcome: { text: 'Found flowers' },
    });
    const requests = research.of('AgentTaskRequest').slice(-2);
    expect(requests.map(({ body }) => body.taskId)).toEqual([asked.id, asked.id]);
    expect(new Set(requests.map(({ messageId }) => messageId)).size).toBe(2);
    expect(progress).toContain('Searching bees');
    // RockBot refuses every cancel; the refusal is not the end of the task.
    const request = { agent: name, skill: 'research', message: 'wait' };
    const waiting = await network.invoker.invoke(request, session);
    await eventually(() => research.of('AgentTaskRequest').at(-1)?.body.taskId).toBe(waiting.id);
    await network.invoker.cancel(waiting.id);
    await eventually(() => research.of('AgentTaskCancelRequest').at(-1)?.body.taskId).toBe(
      waiting.id,
    );
  });

  test('a call that RockBot refuses to cancel stays cancelled, whatever RockBot answers later', async () => {
    const { bus, exchange, url } = await place();
    await using _bus = bus;
    const name = nameOf('ResearchAgent');
    await using research = await researchAgent({ url, exchange, name });
    const lines: string[] = [];
    const log = (_fields: object, event: string) => void lines.push(event);
    const logger = { debug: log, info: log, warn: log, error: log, child: () => logger };
    await using network = await joinPeers({
      name: 'ours',
      store: openMemory(),
      links: [busLink({ bus })],
      logger,
      wellKnown: [{ name }],
    });
    const request = { agent: name, skill: 'research', message: 'late' };
    const { id } = await network.invoker.invoke(request, session);
    await eventually(() => research.of('AgentTaskRequest').length).toBe(1);
    await network.invoker.cancel(id);
    const canceled = { state: 'ended', outcome: { end: 'TASK_STATE_CANCELED' } };
    expect(await network.invoker.find(id)).toMatchObject(canceled);
    await eventually(() => research.of('AgentTaskCancelRequest').length).toBe(1);
    // A later call: its answer comes after the late one of the first.
    const next = { agent: name, skill: 'research', message: 'bees' };
    expect(await network.invoker.invokeAndWait(next, session)).toMatchObject({
      outcome: { text: 'Found bees' },
    });
    expect(lines).not.toContain('bus.reply.unmatched');
    expect(await network.invoker.find(id)).toMatchObject(canceled);
  });

  test('a task of a gateway that RockBot refuses to cancel is cancelled for its caller, and a later answer is ignored', async () => {
    const { bus, exchange, url } = await place();
    await using _bus = bus;
    const name = nameOf('ResearchAgent');
    await using research = await researchAgent({ url, exchange, name });
    // Longer than the test: the refusal ends the task, not the time for its last events.
    await using server = await gateway({ bus, agents: [name], port: 0, cancelGraceMs: 600_000 });
    const client = await connect(server.url);
    const unable = await client.sendMessage('fail');
    expect(unable).toMatchObject({
      task: {
        status: {
          state: 'TASK_STATE_FAILED',
          message: {
            parts: [
              { data: { state: 'failed', error_type: 'execution_failed', isRetryable: false } },
              { text: 'No network' },
            ],
          },
        },
      },
    });
    const configuration = { returnImmediately: true };
    const sent = await client.sendMessage({ message: message('late'), configuration });
    if (!('task' in sent)) throw new Error('expected a task');
    await eventually(() => research.of('AgentTaskRequest').length).toBe(2);
    const canceled = await client.cancelTask(sent.task.id);
    expect(canceled.status.state).toBe('TASK_STATE_CANCELED');
    await eventually(() => research.of('AgentTaskCancelRequest').length).toBe(1);
    // A later task: its answer comes after the late one of the first.
    expect(JSON.stringify(await client.sendMessage('bees'))).toContain('Found bees');
    const kept = await client.getTask(sent.task.id);
    expect(kept.status.state).toBe('TASK_STATE_CANCELED');
    expect(JSON.stringify(kept)).not.toContain('Found it after all');
  });

  test('a gateway sends the claims of its caller, and a cancel under the task id of its request', async () => {
    const { bus, exchange, url } = await place();
    await using _bus = bus;
    const name = nameOf('ResearchAgent');
    await using research = await researchAgent({ url, exchange, name });
    const keys = [{ key: 'k', subject: 'alice', scopes: ['research'] }];
    const auth = new Authenticator({ verifiers: [apiKeyVerifier({ keys })] });
    await using server = await gateway({ bus, agents: [name], port: 0, auth });
    const client = await connect(server.url, {
      auth: { apiKey: { name: 'X-API-Key', value: 'k' } },
    });
    const configuration = { returnImmediately: true };
    const sent = await client.sendMessage({ message: message('wait'), configuration });
    if (!('task' in sent)) throw new Error('expected a task');
    await eventually(() => research.of('AgentTaskRequest').length).toBe(1);
    // What a gateway says about its caller, where RockBot's bridge reads it.
    const { headers } = research.of('AgentTaskRequest')[0] ?? {};
    expect(JSON.parse(String(headers?.['rb-rb-auth-claims']))).toMatchObject({
      sub: 'alice',
      scope: 'research',
      iss: expect.stringMatching(/^gateway/) as unknown,
    });
    await client.cancelTask(sent.task.id).catch(() => undefined);
    await eventually(() => research.of('AgentTaskCancelRequest').length).toBeGreaterThan(0);
    expect(research.of('AgentTaskCancelRequest')[0]?.body.taskId).toBe(
      research.of('AgentTaskRequest')[0]?.body.taskId,
    );
  });

  test('agents of ours that sign and were not announced yet call each other', async () => {
    const { bus, exchange, url } = await place();
    await using _bus = bus;
    await using other = await openBus({ type: 'rabbitmq', url, exchange, dialect: 'rockbot' });
    const [ours, theirs] = [generateSigningKey(), generateSigningKey()];
    const [me, name] = [nameOf('desk'), nameOf('Asker')];
    const trusting = (issuer: string, key: SigningKey) =>
      new MessageVerifier({ trusted: [{ issuer, keys: publicKeySet([key]) }] });
    const asker = agent({ name, skills: ['ask'] }, async function* (turn) {
      yield turn.isContinuation
        ? completed(`${turn.caller.subject} said ${textOf(turn.message)}`)
        : inputRequired('Which day?');
    });
    await using _host = await hostOnBus(asker, {
      bus: other,
      announces: false,
      signer: new MessageSigner({ issuer: name, key: theirs }),
      verifier: trusting(me, ours),
    });
    const signer = new MessageSigner({ issuer: me, key: ours });
    await using network = await joinPeers({
      name: me,
      store: openMemory(),
      links: [busLink({ bus, signer, verifier: trusting(name, theirs) })],
      wellKnown: [{ name }],
    });
    const asked = await network.call({ agent: name, skill: 'ask', message: 'Meet me' }, session);
    if (asked.state !== 'input-required') throw new Error(JSON.stringify(asked));
    expect(await asked.answer('Tuesday')).toMatchObject({ text: `${me} said Tuesday` });
  });

  test('a long task of an unsigned caller of ours is the same task at the next worker', async () => {
    const { bus, exchange, url } = await place();
    await using _bus = bus;
    await using own = await openBus({ type: 'rabbitmq', url, exchange });
    const name = nameOf('slow');
    const [one, other] = openMemoryReplicas(2);
    if (one === undefined || other === undefined) throw new Error('expected two stores');
    const gate = Promise.withResolvers<void>();
    const messages: string[] = [];
    const slow = agent({ name, onInterrupted: 'run-again' }, async function* (turn) {
      messages.push(turn.message.messageId);
      yield working('started');
      await gate.promise;
      yield completed('done');
    });
    const first = await hostOnBus(slow, { bus, store: one, acknowledgeAfterMs: 20 });
    const caller = await TestCaller.start(own);
    const id = await caller.send(name, 'long');
    const query = { space: 'bus-accepted-tasks', limit: 1, now: Date.now() };
    await eventually(async () => (await one.records.list(query)).length).toBe(1);
    await first.close();
    gate.resolve();
    await using _second = await hostOnBus(slow, { bus, store: other });
    await eventually(() => caller.state(id)).toBe('TASK_STATE_COMPLETED');
    expect(new Set(messages).size).toBe(1);
  });

  test('a sender is believed by its name alone only where the configuration says so', async () => {
    const { bus, exchange, url } = await place();
    await using _bus = bus;
    const name = nameOf('Careful');
    const heard: unknown[] = [];
    const careful = agent({ name }, async function* (turn) {
      const { method, subject, scopes } = turn.caller;
      heard.push([method, subject, scopes]);
      yield completed('done');
    });
    const primary = nameOf('RockBot');
    const { unsigned } = await readBusIdentity(
      { trusted: [{ issuer: primary, unsigned: true, scopes: ['notes:write'] }] },
      { directory: '.', issuer: name },
    );
    await using _host = await hostOnBus(careful, {
      bus,
      store: openMemory(),
      unsigned: unsigned ?? [],
    });
    for (const sender of [primary, nameOf('stranger')]) {
      await using rockbot = await RockbotPeer.start({
        url,
        exchange,
        name: sender,
        topics: [`agent.response.${sender}`],
      });
      const taskId = randomUUID();
      await rockbot.publish(
        `agent.task.${name}`,
        'AgentTaskRequest',
        { taskId, skill: 'x', message: said('hi') },
        { correlationId: taskId, replyTo: `agent.response.${sender}` },
      );
      await eventually(() => rockbot.of('AgentTaskResult').length).toBe(1);
    }
    expect(heard).toEqual([
      ['bus-name', primary, ['notes:write']],
      ['self-asserted', expect.stringContaining('unverified:stranger'), undefined],
    ]);
  });

  test('a gateway serves agents of both kinds, with their progress, and names its callers', async () => {
    const { bus, exchange, url } = await place();
    await using _bus = bus;
    const theirs = nameOf('ResearchAgent');
    const ours = nameOf('ours');
    await using research = await researchAgent({ url, exchange, name: theirs });
    const echo = agent({ name: ours, skills: ['echo'] }, async function* (turn) {
      yield completed(`Ours heard ${textOf(turn.message)}`);
    });
    await using _host = await hostOnBus(echo, { bus, store: openMemory() });
    await using server = await gateway({ bus, agents: [theirs, ours], port: 0 });
    const send = async (path: string, text: string): Promise<string> => {
      const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }] };
      const params = { message, metadata: { skill: 'research' } };
      const response = await fetch(`${server.url}/agents/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params }),
        signal: AbortSignal.timeout(20_000),
      });
      return response.text();
    };
    const answered = await send(theirs, 'bees');
    expect(answered).toContain('Searching bees');
    expect(answered).toContain('Found bees');
    expect(await send(ours, 'hello')).toContain('Ours heard hello');
    expect(research.received).toHaveLength(1);
    expect(research.received[0]?.body).toMatchObject({ skill: 'research' });
    expect(research.received[0]?.headers['rb-source']).toMatch(/^gateway-/);
  });
});
