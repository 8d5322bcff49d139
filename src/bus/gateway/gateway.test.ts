import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import {
  agent,
  type Agent,
  chunk,
  failed,
  inputRequired,
  reply,
  textOf,
  working,
} from '../../agents/index.ts';
import { apiKeyVerifier, Authenticator } from '../../auth/index.ts';
import { type Client, connect, type ConnectOptions, readResumePoint } from '../../client/index.ts';
import { grpcBinding, serveGrpc } from '../../grpc/index.ts';
import {
  artifact,
  data,
  file,
  isTerminal,
  type Message,
  message,
  type Part,
  type StreamResponse,
  type Task,
  text,
} from '../../protocol/index.ts';
import { generateSigningKey, publicKeySet } from '../../push/index.ts';
import { openMemory, openMemoryReplicas, type Store } from '../../store/index.ts';
import { Sender } from '../exchange.ts';
import { announceOnce } from '../host/announcer.ts';
import { hostOnBus, type HostOptions } from '../host/host.ts';
import { MessageSigner } from '../identity/signer.ts';
import { MessageVerifier } from '../identity/verifier.ts';
import { codeOf, describeBuses, nameOf, eventually } from '../testing.contract.ts';
import { type Bus, type BusMessage, done, type OutgoingMessage } from '../transport/bus.ts';
import { discoveryQueue, topics } from '../transport/topics.ts';
import { gateway, type GatewayOptions } from './gateway.ts';

const httpsOnly = { schemes: ['https'], allowLoopback: false, allowPrivate: false } as const;

describeBuses('the gateway', (buses) => {
  async function host(bus: Bus, made: Agent, options: Partial<HostOptions> = {}) {
    const hosting = await hostOnBus(made, { bus, cancelGraceMs: 50, ...options });
    buses.after(() => hosting.close());
    return hosting;
  }

  async function open(bus: Bus, options: Partial<GatewayOptions> & Pick<GatewayOptions, 'agents'>) {
    const server = await gateway({ bus, drainMs: 0, cancelGraceMs: 2_000, ...options });
    buses.after(() => server.close());
    return server;
  }

  async function start(made: Agent, options: Partial<GatewayOptions> = {}) {
    const bus = await buses.open();
    await host(bus, made);
    const server = await open(bus, { agents: [made.name], ...options });
    return { bus, server, client: await connect(server.url) };
  }

  const taskOf = (answer: { task: Task } | { message: Message }): Task => {
    if (!('task' in answer)) throw new Error('expected a task');
    return answer.task;
  };

  async function collect(events: AsyncIterable<{ response: StreamResponse }>) {
    const seen: StreamResponse[] = [];
    for await (const { response } of events) seen.push(response);
    return seen;
  }

  const echo = (name: string): Agent =>
    agent({ name, inputModes: ['*/*'], outputModes: ['*/*'] }, async function* (turn) {
      yield working('on it');
      yield { ...artifact(turn.message.parts), artifactId: 'copy', name: 'copy' };
    });

  for (const binding of ['JSONRPC', 'HTTP+JSON'] as const) {
    for (const version of ['1.0', '0.3'] as const) {
      test(`answers with all that the agent made (${binding} ${version})`, async () => {
        const { server } = await start(echo(nameOf('echo')));
        const client = await connect(server.url, { binding, version });
        const parts: Part[] = [
          text('words'),
          data({ deep: [1, { x: null }] }),
          file({ bytes: new Uint8Array([1, 2, 255]), filename: 'a.bin', mediaType: 'image/png' }),
          file({ url: 'https://example.com/a.csv' }),
        ];
        const task = taskOf(await client.sendMessage({ message: message(parts) }));
        expect(task.status.state).toBe('TASK_STATE_COMPLETED');
        expect(task.artifacts).toEqual([{ artifactId: 'copy', name: 'copy', parts }]);
      });
    }
  }

  test('answers over gRPC too, where that door is opened', async () => {
    const { server } = await start(echo(nameOf('echo')));
    const door = await serveGrpc(server.router);
    buses.after(() => door.close({ graceMs: 0 }));
    const { current } = server.router.cards;
    const supportedInterfaces = current.supportedInterfaces.filter(
      ({ protocolBinding }) => protocolBinding === 'GRPC',
    );
    const client = await connect(
      { ...current, supportedInterfaces },
      { bindings: [grpcBinding()] },
    );
    const task = taskOf(await client.sendMessage('hello'));
    expect(task.artifacts?.[0]?.parts).toEqual([{ text: 'hello' }]);
    const events = await collect(client.sendStreamingMessage('again'));
    expect(events.some((event) => 'artifactUpdate' in event)).toBe(true);
  });

  test('streams as the agent goes, and every event is stored here', async () => {
    const name = nameOf('streamer');
    const { client } = await start(
      agent({ name }, async function* () {
        yield working('thinking');
        for (let index = 0; index < 20; index += 1) {
          yield chunk('a', `${index} `, { append: index > 0, last: index === 19 });
        }
        yield chunk('b', 'whole', { last: true });
      }),
    );
    const events = await collect(client.sendStreamingMessage('go'));
    const chunks = events.flatMap((event) =>
      'artifactUpdate' in event ? [event.artifactUpdate] : [],
    );
    expect(chunks).toHaveLength(21);
    expect(chunks.filter(({ lastChunk }) => lastChunk === true)).toHaveLength(2);
    const [task] = (await client.listTasks({ includeArtifacts: true })).tasks;
    const words = task?.artifacts?.[0]?.parts.map((part) => part.text).join('');
    expect(words).toBe(Array.from({ length: 20 }, (_, index) => `${index} `).join(''));
    expect(JSON.stringify(events)).toContain('thinking');
  });

  test('a streamed answer comes once, chunk by chunk, and reads as one text', async () => {
    const name = nameOf('writer');
    const { client } = await start(
      agent({ name }, async function* () {
        for (const [index, word] of ['Dear ', 'Ada', ', hello'].entries()) {
          yield chunk('a', word, { append: index > 0 });
        }
      }),
    );
    const events = await collect(client.sendStreamingMessage('go'));
    const chunks = events.flatMap((event) =>
      'artifactUpdate' in event ? [event.artifactUpdate.artifact] : [],
    );
    // An empty chunk marks the end, if the end of the task came after the last word was stored.
    const words = chunks.map(textOf).filter((word) => word !== '');
    expect(words).toEqual(['Dear ', 'Ada', ', hello']);
    const task = taskOf(await client.sendMessage('go'));
    expect(task.artifacts).toEqual([{ artifactId: 'a', parts: [text('Dear Ada, hello')] }]);
  });

  test('a question is answered in the same task', async () => {
    const name = nameOf('asker');
    const seen: string[] = [];
    const { client } = await start(
      agent({ name }, async function* (turn) {
        seen.push(`${turn.taskId} ${turn.contextId}`);
        const earlier = await turn.history();
        if (earlier.length === 0) yield inputRequired([text('When?'), data({ options: ['noon'] })]);
        else yield artifact(`${earlier.map(textOf).join('|')}|${textOf(turn.message)}`);
      }),
    );
    const asked = taskOf(await client.sendMessage('meet'));
    expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    expect(asked.status.message?.parts).toEqual([
      { text: 'When?' },
      { data: { options: ['noon'] } },
    ]);
    const { id: taskId, contextId } = asked;
    const done = taskOf(
      await client.sendMessage({ message: message('noon', { taskId, contextId }) }),
    );
    expect(done).toMatchObject({
      id: taskId,
      contextId,
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ parts: [{ text: 'meet|When?|noon' }] }],
    });
    expect(new Set(seen).size).toBe(1);
  });

  test('errors of the agent arrive as errors and at once, not as a silence', async () => {
    const name = nameOf('failing');
    const { client, server } = await start(
      agent({ name }, async function* (turn) {
        yield working();
        if (textOf(turn.message) === 'throw') throw new Error('secret');
        yield failed([text('no'), data({ error_type: 'mine' })], { metadata: { why: 'because' } });
      }),
    );
    const thrown = taskOf(await client.sendMessage('throw'));
    expect(thrown.status.state).toBe('TASK_STATE_FAILED');
    expect(JSON.stringify(thrown)).not.toContain('secret');
    const said = taskOf(await client.sendMessage('x'));
    expect(said.status.message?.parts[0]).toEqual({ text: 'no' });
    expect(said.metadata).toMatchObject({ why: 'because' });
    // The gateway knows the agent's card, and refuses what the agent does not accept.
    const image = message(text('x', { mediaType: 'image/png' }));
    await expect(client.sendMessage({ message: image })).rejects.toMatchObject({
      code: 'CONTENT_TYPE_NOT_SUPPORTED',
    });
    expect(server.routers.size).toBe(1);
  });

  test('an agent that was never started is an error at once', async () => {
    const bus = await buses.open();
    const server = await open(bus, { agents: [nameOf('nobody')] });
    const client = await connect(server.url);
    const task = taskOf(await client.sendMessage('x'));
    expect(task.status.state).toBe('TASK_STATE_FAILED');
    expect(task.metadata).toEqual({ error_type: 'peer_unreachable' });
  });

  test('cancel stops the agent, and its last words are kept', async () => {
    const name = nameOf('sleeper');
    let isAborted = false;
    const { client } = await start(
      agent({ name }, async function* (turn) {
        yield chunk('a', 'begun');
        await new Promise<void>((resolve) => {
          turn.signal.addEventListener('abort', () => resolve(), { once: true });
        });
        isAborted = true;
        yield { kind: 'canceled', parts: [text('put away')] };
      }),
    );
    const events = client.sendStreamingMessage('x');
    let taskId = '';
    for await (const { response } of events) {
      if ('task' in response) taskId = response.task.id;
      if ('artifactUpdate' in response) break;
    }
    const cancelled = await client.cancelTask(taskId);
    expect(cancelled.status.state).toBe('TASK_STATE_CANCELED');
    expect(cancelled.status.message?.parts).toEqual([{ text: 'put away' }]);
    expect(isAborted).toBe(true);
  });

  test('cancel of a task that waits for its caller reaches the agent too', async () => {
    const name = nameOf('asker');
    const bus = await buses.open();
    const store = openMemory();
    await host(
      bus,
      agent({ name }, async function* () {
        yield inputRequired('?');
      }),
      { store },
    );
    const server = await open(bus, { agents: [name] });
    const client = await connect(server.url);
    const asked = taskOf(await client.sendMessage('x'));
    const remote = await server.router.store.records.get('gateway-tasks', asked.id, Date.now());
    const cancelled = await client.cancelTask(asked.id);
    expect(cancelled.status.state).toBe('TASK_STATE_CANCELED');
    const { taskId = '' } = readResumePoint(remote?.value.value) ?? {};
    await eventually(async () => (await store.load(taskId))?.state).toBe('TASK_STATE_CANCELED');
  });

  test('lists, reads, continuations and cancels are for the one who asked only', async () => {
    const name = nameOf('asker');
    const store = openMemory();
    const [alice, bob] = [
      { subject: 'alice', key: 'alice-'.repeat(6) },
      { subject: 'bob', key: 'bob-'.repeat(10) },
    ];
    const keys = [alice, bob];
    const auth = new Authenticator({ verifiers: [apiKeyVerifier({ keys })] });
    const seen = new Set<string>();
    const { server } = await start(
      agent({ name }, async function* (turn) {
        seen.add(turn.caller.subject);
        yield inputRequired('?');
      }),
      { store, auth, push: { policy: httpsOnly } },
    );
    const as = (key: string, more: ConnectOptions = {}): Promise<Client> =>
      connect(server.url, { ...more, auth: { apiKey: { name: 'X-API-Key', value: key } } });
    const mine = await as(alice.key);
    const theirs = await as(bob.key);
    const task = taskOf(await mine.sendMessage({ message: message('x', { contextId: 'same' }) }));
    await theirs.sendMessage({ message: message('x', { contextId: 'same' }) });
    expect((await mine.listTasks()).tasks.map(({ id }) => id)).toEqual([task.id]);
    expect((await theirs.listTasks()).totalSize).toBe(1);
    expect(await codeOf(theirs.getTask(task.id))).toBe('TASK_NOT_FOUND');
    expect(await codeOf(theirs.cancelTask(task.id))).toBe('TASK_NOT_FOUND');
    const steal = { message: message('x', { taskId: task.id, contextId: 'same' }) };
    expect(await codeOf(theirs.sendMessage(steal))).toBe('TASK_NOT_FOUND');
    const config = { taskId: task.id, id: 'hook', url: 'https://example.com' };
    const place = { taskId: task.id, id: 'hook' };
    await mine.createTaskPushNotificationConfig(config);
    for (const attempt of [
      () => theirs.createTaskPushNotificationConfig(config),
      () => theirs.getTaskPushNotificationConfig(place),
      () => theirs.listTaskPushNotificationConfigs({ taskId: task.id }),
      () => theirs.deleteTaskPushNotificationConfig(place),
    ]) {
      expect(await codeOf(attempt())).toBe('TASK_NOT_FOUND');
    }
    expect((await mine.getTaskPushNotificationConfig(place)).url).toBe('https://example.com');
    // Nor may anybody have messages sent to where only this machine should reach.
    const inside = { taskId: task.id, url: 'http://127.0.0.1:1/' };
    expect(await codeOf(mine.createTaskPushNotificationConfig(inside))).not.toBe('no error');
    // Nor do they share a conversation at the agent.
    expect(seen.size).toBe(2);
    expect(await codeOf(connect(server.url).then((client) => client.sendMessage('x')))).toBe(
      'UNAUTHENTICATED',
    );
  });

  test('a signing gateway proves the identity of every caller to the agent', async () => {
    const name = nameOf('who');
    const bus = await buses.open();
    const key = generateSigningKey();
    const verifier = new MessageVerifier({
      trusted: [{ issuer: 'gateway', keys: publicKeySet([key]), mayVouch: true }],
    });
    await host(
      bus,
      agent({ name }, async function* (turn) {
        yield artifact([data({ ...turn.caller })]);
      }),
      { verifier, requireSigned: true },
    );
    const store = openMemory();
    // A name that would be a pattern on the bus is a name like any other here.
    const eve = { key: 'eve-'.repeat(10), subject: '#', displayName: 'Eve', scopes: ['a'] };
    const keys = [eve];
    const server = await open(bus, {
      agents: [name],
      store,
      auth: new Authenticator({ verifiers: [apiKeyVerifier({ keys })] }),
      signer: new MessageSigner({ issuer: 'gateway', key }),
    });
    const client = await connect(server.url, {
      auth: { apiKey: { name: 'X-API-Key', value: eve.key } },
    });
    const task = taskOf(await client.sendMessage('x'));
    expect(task.artifacts?.[0]?.parts[0]?.data).toMatchObject({
      subject: 'gateway/#',
      method: 'message-token',
      displayName: 'Eve',
      scopes: ['a'],
    });
  });

  test('what others answer in the name of an agent that signs is not believed', async () => {
    const bus = await buses.open();
    const [theirs, eves] = [generateSigningKey(), generateSigningKey()];
    const [name, eve] = [nameOf('bob'), nameOf('eve')];
    const verifier = new MessageVerifier({
      trusted: [
        { issuer: name, keys: publicKeySet([theirs]) },
        { issuer: eve, keys: publicKeySet([eves]) },
      ],
    });
    const gate = Promise.withResolvers<void>();
    await host(
      bus,
      agent({ name }, async function* () {
        await gate.promise;
        yield artifact('true');
      }),
      { signer: new MessageSigner({ issuer: name, key: theirs }) },
    );
    const asked: { correlationId: string; replyTo: string }[] = [];
    const publish = bus.publish.bind(bus);
    bus.publish = (topic, sent, options) => {
      const { type, correlationId = '', replyTo = '' } = sent;
      if (type === 'task') asked.push({ correlationId, replyTo });
      return publish(topic, sent, options);
    };
    const server = await open(bus, { agents: [name], verifier });
    const client = await connect(server.url);
    const answer = client.sendMessage('x');
    await eventually(() => asked.length).toBe(1);
    const [{ correlationId, replyTo } = { correlationId: '', replyTo: '' }] = asked;
    const task = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } };
    const forged = { type: 'result', body: JSON.stringify({ task }), correlationId } as const;
    await new Sender({ bus, name }).send(replyTo, forged);
    const signer = new MessageSigner({ issuer: eve, key: eves });
    await new Sender({ bus, name, signer }).send(replyTo, forged);
    gate.resolve();
    expect(taskOf(await answer).artifacts?.[0]?.parts).toEqual([{ text: 'true' }]);
  });

  test('an answer to a request that another sender made under the ids of a task is ignored', async () => {
    const bus = await buses.open();
    const [ours, theirs] = [generateSigningKey(), generateSigningKey()];
    const name = nameOf('bob');
    const gate = Promise.withResolvers<void>();
    const bob = agent({ name }, async function* (turn) {
      if (textOf(turn.message) === 'x') await gate.promise;
      yield artifact(`heard ${textOf(turn.message)}`);
    });
    await host(bus, bob, {
      signer: new MessageSigner({ issuer: name, key: theirs }),
      verifier: new MessageVerifier({
        trusted: [{ issuer: 'gateway', keys: publicKeySet([ours]), mayVouch: true }],
      }),
    });
    const asked: OutgoingMessage[] = [];
    const answered: string[] = [];
    const publish = bus.publish.bind(bus);
    bus.publish = async (topic, sent, options) => {
      if (sent.type === 'task') asked.push(sent);
      await publish(topic, sent, options);
      if (sent.type === 'result') answered.push(sent.body);
    };
    const server = await open(bus, {
      agents: [name],
      signer: new MessageSigner({ issuer: 'gateway', key: ours }),
      verifier: new MessageVerifier({
        trusted: [{ issuer: name, keys: publicKeySet([theirs]) }],
      }),
    });
    const client = await connect(server.url);
    const answer = client.sendMessage('x');
    await eventually(() => asked.length).toBe(1);
    const { correlationId, replyTo } = asked[0] ?? {};
    const body = JSON.stringify({ message: message('of another') });
    await bus.publish(topics.task(name), { type: 'task', body, correlationId, replyTo });
    await eventually(() => answered.length).toBe(1);
    gate.resolve();
    expect(taskOf(await answer).artifacts?.[0]?.parts).toEqual([{ text: 'heard x' }]);
  });

  test('one queue of answers serves a whole gateway, however much is asked', async () => {
    const name = nameOf('echo');
    const { bus, client } = await start(echo(name));
    const declared = new Set<string>();
    const consume = bus.consume.bind(bus);
    bus.consume = (queue, ...rest) => {
      declared.add(queue.name);
      return consume(queue, ...rest);
    };
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => client.sendMessage(`m${index}`)),
    );
    expect(answers.map((answer) => taskOf(answer).artifacts?.[0]?.parts[0]?.text)).toEqual(
      Array.from({ length: 50 }, (_, index) => `m${index}`),
    );
    expect(declared.size).toBe(0);
  });

  test('webhooks are notified of what the agent does', async () => {
    const name = nameOf('echo');
    const told: string[] = [];
    const receiver = createServer((request, response) => {
      void (async () => {
        let body = '';
        for await (const piece of request) body += String(piece);
        told.push(body);
        response.end();
      })();
    });
    await new Promise<void>((resolve) => void receiver.listen(0, '127.0.0.1', resolve));
    buses.after(async () => void receiver.close());
    const { port } = receiver.address() as AddressInfo;
    const { client } = await start(echo(name), {
      push: { policy: { schemes: ['http'], allowLoopback: true, allowPrivate: true } },
    });
    const taskPushNotificationConfig = { url: `http://127.0.0.1:${port}/hook` };
    const configuration = { taskPushNotificationConfig };
    await client.sendMessage({ message: message('x'), configuration });
    await eventually(() => told.some((body) => body.includes('TASK_STATE_COMPLETED'))).toBe(true);
  });

  test('the first request sees the skills of agents that run, and of those that ran before', async () => {
    const name = nameOf('painter');
    const bus = await buses.open();
    const painter = agent(
      { name, description: 'Paints', skills: ['paint'] },
      async function* () {},
    );
    const hosting = await hostOnBus(painter, { bus });
    const store = openMemory();
    const skillsOf = async (): Promise<readonly string[]> => {
      const server = await open(bus, { agents: [name], store });
      return (await connect(server.url)).card.skills.map(({ id }) => id);
    };
    expect(await skillsOf()).toEqual(['paint']);
    await hosting.close();
    expect(await skillsOf()).toEqual(['paint']);
  });

  test('the card tells what the agent announces, and never where it is', async () => {
    const name = nameOf('painter');
    const bus = await buses.open();
    const server = await open(bus, { agents: [name] });
    expect((await connect(server.url)).card.skills).toEqual([]);
    await host(
      bus,
      agent({ name, description: 'Paints', skills: ['paint'] }, async function* () {}),
    );
    await eventually(async () =>
      (await connect(server.url)).card.skills.map(({ id }) => id),
    ).toEqual(['paint']);
    const { card } = await connect(server.url);
    expect(card.description).toBe('Paints');
    expect(card.supportedInterfaces.every(({ url }) => url === server.url)).toBe(true);
  });

  test('cards of signing agents are accepted from those agents only, and never from older announcements', async () => {
    const bus = await buses.open();
    const [name, marker] = [nameOf('painter'), nameOf('marker')];
    const keys = { [name]: generateSigningKey(), [marker]: generateSigningKey() };
    const verifier = new MessageVerifier({
      trusted: Object.entries(keys).map(([issuer, key]) => ({ issuer, keys: publicKeySet([key]) })),
    });
    const heard: BusMessage[] = [];
    await bus.consume(discoveryQueue(nameOf('eve')), async (delivery) => {
      heard.push(delivery);
      return done;
    });
    const server = await open(bus, { agents: [name, marker], verifier });
    const skillOf = (agentName: string): string | undefined =>
      server.routers.get(agentName)?.cards.current.skills[0]?.id;
    const announce = (who: string, skill: string, isSigned = true): Promise<void> => {
      const key = keys[who];
      const signer = key && new MessageSigner({ issuer: who, key });
      const made = agent({ name: who, skills: [skill] }, async function* () {});
      return announceOnce(made, { bus, ...(isSigned && signer !== undefined && { signer }) });
    };
    let marks = 0;
    /** Announcements are heard in their order: all before this one have been. */
    const settle = async (): Promise<void> => {
      marks += 1;
      await announce(marker, `mark-${marks}`);
      await eventually(() => skillOf(marker)).toBe(`mark-${marks}`);
    };
    await announce(name, 'forged', false);
    await settle();
    expect(skillOf(name)).toBe(undefined);
    await announce(name, 'paint');
    await settle();
    expect(skillOf(name)).toBe('paint');
    const isFirst = ({ body }: BusMessage): boolean => body.includes('"paint"');
    await eventually(() => heard.some(isFirst)).toBe(true);
    await announce(name, 'sculpt');
    // What it signed before can be sent again by anybody.
    const { body = '', correlationId = '', headers = {} } = heard.find(isFirst) ?? {};
    await bus.publish(topics.discovery, { type: 'announce', body, correlationId, headers });
    await announce(name, 'forged', false);
    await settle();
    expect(skillOf(name)).toBe('sculpt');
  });

  test('the extended card is for authenticated callers, and follows the agent too', async () => {
    const name = nameOf('painter');
    const bus = await buses.open();
    const auth = new Authenticator({
      verifiers: [apiKeyVerifier({ keys: [{ key: 'k', subject: 'alice' }] })],
    });
    const server = await open(bus, { agents: [name], auth, extendedCard: true });
    const read = (headers: Record<string, string> = {}) =>
      fetch(`${server.url}/extendedAgentCard`, { headers: { 'a2a-version': '1.0', ...headers } });
    await host(
      bus,
      agent({ name, description: 'Paints', skills: ['paint'] }, async function* () {}),
    );
    await eventually(async () => (await read({ 'x-api-key': 'k' })).text()).toContain('"paint"');
    expect((await read()).status).toBe(401);
  });

  test('several agents stand behind one gateway, each at an address of its own', async () => {
    const bus = await buses.open();
    const names = [nameOf('one'), nameOf('two')] as const;
    for (const name of names) {
      await host(
        bus,
        agent({ name }, async function* () {
          yield artifact(`I am ${name}`);
        }),
      );
    }
    const server = await open(bus, { agents: [...names] });
    const listed = (await (await fetch(`${server.url}/agents`)).json()) as {
      agents: { name: string; url: string }[];
    };
    expect(listed.agents.map(({ name }) => name)).toEqual(names);
    for (const name of names) {
      for (const binding of ['JSONRPC', 'HTTP+JSON'] as const) {
        const client = await connect(`${server.url}/agents/${name}`, { binding });
        const task = taskOf(await client.sendMessage('who?'));
        expect(task.artifacts?.[0]?.parts[0]?.text).toBe(`I am ${name}`);
      }
    }
    const root = await connect(server.url);
    const task = taskOf(await root.sendMessage('who?'));
    expect(task.artifacts?.[0]?.parts[0]?.text).toBe(`I am ${names[0]}`);
    expect((await fetch(`${server.url}/agents/other/tasks`)).status).toBe(404);
  });

  test('two gateways over one store: what starts at one is followed and answered at the other', async () => {
    const name = nameOf('asker');
    const bus = await buses.open();
    const gate = Promise.withResolvers<void>();
    await host(
      bus,
      agent({ name }, async function* (turn) {
        yield chunk('a', 'begun');
        await gate.promise;
        if (turn.isContinuation) yield artifact('done');
        else yield inputRequired('?');
      }),
    );
    const [one, two] = openMemoryReplicas(2) as [Store, Store];
    const first = await connect((await open(bus, { agents: [name], store: one })).url);
    const second = await connect((await open(bus, { agents: [name], store: two })).url);
    const begun = taskOf(
      await first.sendMessage({
        message: message('x'),
        configuration: { returnImmediately: true },
      }),
    );
    const followed = second.waitForEnd(begun.id);
    gate.resolve();
    const asked = await followed;
    expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    const answer = message('y', { taskId: asked.id });
    const done = taskOf(await second.sendMessage({ message: answer }));
    expect(done.status.state).toBe('TASK_STATE_COMPLETED');
  });

  test('two gateways that share nothing stand before one agent, and each hears its own answers', async () => {
    const name = nameOf('echo');
    const bus = await buses.open();
    await host(bus, echo(name));
    const one = await connect((await open(bus, { agents: [name] })).url);
    const two = await connect((await open(bus, { agents: [name] })).url);
    const clients = [one, two];
    const words = Array.from({ length: 40 }, (_, index) => `m${index}`);
    const answers = await Promise.all(
      words.map((said, index) => (index % 2 === 0 ? one : two).sendMessage(said)),
    );
    const texts = answers.map((answer) => taskOf(answer).artifacts?.[0]?.parts[0]?.text);
    expect(texts).toEqual(words);
    for (const client of clients) expect((await client.listTasks()).totalSize).toBe(20);
  });

  test.each([
    ['while the one that began it lives', true],
    ['when the one that began it is gone', false],
  ])('a cancel at another gateway reaches the agent, %s', async (_when, isAlive) => {
    const name = nameOf('sleeper');
    const bus = await buses.open();
    let isStarted = false;
    let isAborted = false;
    await host(
      bus,
      agent({ name }, async function* (turn) {
        yield chunk('a', 'begun');
        isStarted = true;
        await new Promise<void>((resolve) => {
          turn.signal.addEventListener('abort', () => resolve(), { once: true });
        });
        isAborted = true;
      }),
    );
    const [one, two] = openMemoryReplicas(2) as [Store, Store];
    const options = { agents: [name], cancelGraceMs: 500, leaseMs: 300 } as const;
    const first = await open(bus, { ...options, store: one });
    const configuration = { returnImmediately: true };
    const begun = taskOf(
      await (await connect(first.url)).sendMessage({ message: message('x'), configuration }),
    );
    await eventually(() => isStarted).toBe(true);
    if (!isAlive) await first.close();
    const second = await connect((await open(bus, { ...options, store: two })).url);
    const { status } = await second.cancelTask(begun.id);
    expect(status.state).toBe('TASK_STATE_CANCELED');
    await eventually(() => isAborted).toBe(true);
  });

  test('gateways that stop in between leave the task to others, however many, and the agent runs it once', async () => {
    const name = nameOf('slow');
    const bus = await buses.open();
    const gate = Promise.withResolvers<void>();
    let turns = 0;
    await host(
      bus,
      agent({ name }, async function* () {
        turns += 1;
        yield chunk('a', 'one ');
        yield chunk('a', 'two ', { append: true });
        await gate.promise;
        yield chunk('a', 'three', { append: true, last: true });
      }),
    );
    const stores = openMemoryReplicas(6);
    const next = (): ReturnType<typeof open> => {
      const store = stores.shift();
      if (store === undefined) throw new Error('expected another store');
      return open(bus, { agents: [name], store, cancelGraceMs: 50, leaseMs: 300 });
    };
    let server = await next();
    const client = await connect(server.url);
    let taskId = '';
    for await (const { response } of client.sendStreamingMessage('x')) {
      if ('task' in response) taskId = response.task.id;
      if ('artifactUpdate' in response && response.artifactUpdate.append === true) break;
    }
    // More often than a turn may fail.
    for (let stop = 0; stop < 5; stop += 1) {
      await server.close();
      server = await next();
      const { engine } = server.router;
      // Told anew by the agent's host, from where it is.
      await eventually(() => engine.runningTurns).toBe(1);
    }
    const other = await connect(server.url);
    gate.resolve();
    const task = await other.waitForEnd(taskId);
    expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(task.artifacts?.[0]?.parts.map((part) => part.text).join('')).toBe('one two three');
    expect(turns).toBe(1);
  });

  test('a gateway whose tasks end with it cancels them at their agent when it stops', async () => {
    const stopped = Promise.withResolvers<void>();
    const made = agent({ name: nameOf('endless') }, async function* (turn) {
      yield working('on it');
      await new Promise<void>((resolve) => {
        turn.signal.addEventListener('abort', () => resolve(), { once: true });
      });
      stopped.resolve();
    });
    const { server, client } = await start(made, { cancelGraceMs: 500 });
    for await (const { response } of client.sendStreamingMessage('go')) {
      if (JSON.stringify(response).includes('on it')) break;
    }
    await server.close();
    await stopped.promise;
  });

  test('the answer to a question does not repeat what the agent made before it', async () => {
    const made = agent({ name: nameOf('poet') }, async function* (turn) {
      if (turn.isContinuation) return yield chunk('poem', 'blue', { append: true });
      yield chunk('poem', 'Roses are ');
      yield inputRequired('which colour?');
    });
    const { client } = await start(made);
    const asked = taskOf(await client.sendAndWait('go'));
    const events = await collect(
      client.sendStreamingMessage(message('blue', { taskId: asked.id })),
    );
    const updates = events.flatMap((event) =>
      'artifactUpdate' in event ? [event.artifactUpdate] : [],
    );
    expect(updates[0]).toMatchObject({ append: true, artifact: { parts: [{ text: 'blue' }] } });
    expect(updates.map(({ artifact: made }) => textOf(made)).join('')).toBe('blue');
    expect(updates.at(-1)).toMatchObject({ append: true, lastChunk: true });
    const task = await client.getTask(asked.id);
    expect(task.artifacts).toMatchObject([{ parts: [{ text: 'Roses are blue' }] }]);
  });

  test('a task that takes too long is cancelled, here and at the agent, and its caller is told why', async () => {
    const name = nameOf('sleeper');
    let isAborted = false;
    const { client } = await start(
      agent({ name }, async function* (turn) {
        yield chunk('a', 'begun');
        await new Promise<void>((resolve) => {
          turn.signal.addEventListener('abort', () => resolve(), { once: true });
        });
        isAborted = true;
      }),
      { taskTimeoutMs: 700 },
    );
    const task = taskOf(await client.sendMessage('x'));
    expect(task.status.state).toBe('TASK_STATE_CANCELED');
    expect(task.metadata).toMatchObject({ error_type: 'timeout' });
    expect(task.status.message?.parts.at(-1)?.text).toMatch(/took longer than 0\.7 s/);
    await eventually(() => isAborted).toBe(true);
  });

  test('a gateway and the agent behind it may share one store, and take no turns of each other', async () => {
    const bus = await buses.open();
    const store = openMemory();
    const name = nameOf('echo');
    const turns: string[] = [];
    const echo = agent({ name }, async function* (turn) {
      turns.push(textOf(turn.message));
      yield artifact(`echo ${textOf(turn.message)}`);
    });
    await host(bus, echo, { store });
    const server = await open(bus, { agents: [name], store });
    const client = await connect(server.url);
    expect(client.card.name).toBe(name);
    for (const words of ['one', 'two']) {
      const { artifacts } = taskOf(await client.sendMessage(words));
      expect(artifacts?.[0]?.parts).toMatchObject([{ text: `echo ${words}` }]);
    }
    expect(turns).toEqual(['one', 'two']);
    expect((await client.listTasks()).tasks).toHaveLength(2);
  });

  test('an agent that answers with plain messages does so here too, where that is declared', async () => {
    const name = nameOf('replier');
    const bus = await buses.open();
    await host(
      bus,
      agent({ name, replies: 'message' }, async function* () {
        yield reply('hello');
      }),
    );
    const server = await open(bus, { agents: [{ name, replies: 'message' }] });
    const answer = await (await connect(server.url)).sendMessage('x');
    expect('message' in answer && answer.message.parts).toEqual([{ text: 'hello' }]);
  });

  test('updates that are lost on the way change nothing that is stored', async () => {
    const name = nameOf('streamer');
    const { bus, client } = await start(
      agent({ name }, async function* () {
        for (let index = 0; index < 10; index += 1) {
          yield chunk('a', `${index}`, { append: index > 0, last: index === 9 });
        }
      }),
    );
    const publish = bus.publish.bind(bus);
    let count = 0;
    bus.publish = async (topic, sent, options) => {
      count += sent.type === 'update' ? 1 : 0;
      // Every third update is lost.
      if (sent.type === 'update' && count % 3 === 0) return;
      await publish(topic, sent, options);
    };
    const task = taskOf(await client.sendMessage('x'));
    expect(task.artifacts?.[0]?.parts.map((part) => part.text).join('')).toBe('0123456789');
    expect(isTerminal(task.status.state)).toBe(true);
  });
});
