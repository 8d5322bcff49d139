import type { BusDialect } from '../../../src/bus/index.ts';
import type { Random } from '../random.ts';
import {
  field,
  longText,
  nestedField,
  type RawMessage,
  type RawProperties,
  rawProperties,
  textField,
} from '../../support/raw-amqp.ts';

export interface HostileTargets {
  /** With `rockbot`, messages resemble those of both dialects. @default 'legate' */
  readonly dialect?: BusDialect;
  readonly exchange: string;
  /** Topics of tasks, cancellation requests, responses, states and announcements. */
  readonly topics: readonly string[];
  /** Queues that can be written to without an exchange. */
  readonly queues: readonly string[];
  /** Ids and names that mean something to the receivers. */
  readonly words: readonly string[];
}

/** A message that is right in places and wrong in others. */
export function hostileMessage(random: Random, targets: HostileTargets): RawMessage {
  const isDirect = random.next() < 0.1;
  return {
    exchange: isDirect ? '' : targets.exchange,
    routingKey: random.pick(isDirect ? targets.queues : targets.topics),
    properties: rawProperties(properties(random, targets)),
    body: body(random, targets),
  };
}

const ownTypes = ['task', 'cancel', 'update', 'result', 'error', 'announce'];
const rockbotTypes = ['Request', 'Result', 'Error', 'StatusUpdate', 'CancelRequest']
  .map((name) => `RockBot.A2A.AgentTask${name}`)
  .concat('RockBot.A2A.AgentCard');

function properties(random: Random, targets: HostileTargets): RawProperties {
  const maybe = <T>(chance: number, make: () => T): T | undefined =>
    random.next() < chance ? make() : undefined;
  const types = targets.dialect === 'rockbot' ? ownTypes.concat(rockbotTypes) : ownTypes;
  const given = {
    contentType: maybe(0.8, () =>
      random.pick(['application/json', 'text/plain', 'application/json; charset=x', bytes(random)]),
    ),
    contentEncoding: maybe(0.2, () => random.pick(['utf-8', 'gzip', '', bytes(random)])),
    headers: maybe(0.7, () => headers(random, targets)),
    correlationId: maybe(0.8, () => word(random, targets)),
    replyTo: maybe(0.7, () => word(random, targets)),
    messageId: maybe(0.5, () => word(random, targets)),
    type: maybe(0.9, () => (random.next() < 0.8 ? random.pick(types) : word(random, targets))),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

const headerNames = `token from updates series sequence answers presence echo traceparent tracestate
  baggage dialect claims rb-source rb-traceparent rb-rb-auth-claims legate-topic legate-attempt legate-reason legate-died-at legate-refused legate-rejectable
  x-death x-first-death-queue x-delivery-count __proto__ constructor toString`.split(/\s+/);

function headers(random: Random, targets: HostileTargets): readonly Buffer[] {
  return Array.from({ length: random.between(0, 6) }, () => {
    const name = random.next() < 0.85 ? random.pick(headerNames) : bytes(random);
    const kind = random.between(0, 14);
    if (kind === 0) return nestedField(String(name), random.between(1, 60));
    if (kind === 1) return textField(name, 'x'.repeat(random.between(1, 9_000)));
    if (kind === 2) return field(name, 't', Buffer.of(1));
    if (kind === 3) return field(name, 'l', Buffer.alloc(8, 0xff));
    if (kind === 4) return field(name, 'd', Buffer.from('7fefffffffffffff', 'hex'));
    if (kind === 5) return field(name, 'V', Buffer.alloc(0));
    if (kind === 6) return field(name, 'x', longText(bytes(random)));
    if (kind === 7) return field(name, 'F', longText(textField('inner', 'x')));
    return textField(name, word(random, targets));
  });
}

/** A text that means something, nearly does, or does not. */
function word(random: Random, { words, topics }: HostileTargets): Buffer | string {
  const kind = random.between(0, 12);
  if (kind < 5) return random.pick(words);
  if (kind < 7) return random.pick(topics);
  if (kind === 7) return '';
  if (kind === 8) return 'a\0b';
  if (kind === 9) return 'x'.repeat(255);
  if (kind === 10)
    return random.pick(['gone 1', 'here 999999999999999', '-1', 'all', 'none', '1e9']);
  return bytes(random);
}

function bytes(random: Random): Buffer {
  return Buffer.from(Array.from({ length: random.between(0, 80) }, () => random.between(0, 256)));
}

function body(random: Random, targets: HostileTargets): Buffer {
  const kind = random.between(0, 20);
  if (kind === 0) return bytes(random);
  if (kind === 1) return Buffer.alloc(0);
  if (kind === 2) return nested(random.between(1, 20_000), random.pick(['[]', '{}']));
  if (kind === 3) return Buffer.from('{"message":'.repeat(random.between(1, 2_000)));
  if (kind === 4) return Buffer.alloc(random.between(1, 300_000), '1');
  const isRockbot = targets.dialect === 'rockbot' && random.next() < 0.7;
  const text = JSON.stringify((isRockbot ? rockbotPayload : payload)(random, targets));
  if (kind > 8) return Buffer.from(text);
  // Cut, or with one byte changed.
  const cut = Buffer.from(text.slice(0, random.between(0, text.length + 1)));
  if (kind > 6 || cut.length === 0) return cut;
  cut[random.between(0, cut.length)] = random.between(0, 256);
  return cut;
}

function nested(depth: number, brackets: string): Buffer {
  const [opening, closing] = brackets === '[]' ? ['[', ']'] : ['{"a":', '}'];
  return Buffer.from(`${opening.repeat(depth)}0${closing.repeat(depth)}`);
}

/** Something like a body of the bus. */
function payload(random: Random, targets: HostileTargets): unknown {
  const text = (): unknown =>
    random.next() < 0.85 ? String(word(random, targets)) : value(random, 2);
  const message = {
    messageId: text(),
    role: random.pick(['ROLE_USER', 'ROLE_AGENT', 'x', 1]),
    parts: random.next() < 0.8 ? [{ text: text() }] : value(random, 3),
    ...(random.next() < 0.3 && { taskId: text() }),
    ...(random.next() < 0.3 && { contextId: text() }),
    ...(random.next() < 0.3 && { metadata: value(random, 3) }),
  };
  const state = random.pick(['TASK_STATE_COMPLETED', 'TASK_STATE_WORKING', 'TASK_STATE_X', 7]);
  const status = { state, ...(random.next() < 0.5 && { message }) };
  const task = { id: text(), contextId: text(), status, artifacts: value(random, 3) };
  const skill = { id: text(), name: text(), description: text(), tags: [text()] };
  return random.pick([
    () => ({ message, configuration: value(random, 2), tenant: text() }),
    () => ({ message }),
    () => ({ id: text(), tenant: text() }),
    () => ({ task }),
    () => ({ statusUpdate: { taskId: text(), contextId: text(), status } }),
    () => ({ artifactUpdate: { taskId: text(), contextId: text(), artifact: value(random, 4) } }),
    () => ({ error: { code: value(random, 1), message: text(), data: value(random, 3) } }),
    () => ({
      name: text(),
      description: text(),
      version: text(),
      supportedInterfaces: [{ url: text(), protocolBinding: text(), protocolVersion: '1.0' }],
      capabilities: value(random, 2),
      defaultInputModes: [text()],
      defaultOutputModes: [text()],
      skills: [skill],
    }),
    () => value(random, 5),
  ])();
}

/** Something like a body of RockBot. */
function rockbotPayload(random: Random, targets: HostileTargets): unknown {
  const text = (): unknown =>
    random.next() < 0.85 ? String(word(random, targets)) : value(random, 2);
  const parts =
    random.next() < 0.8 ? [{ kind: 'text', text: text() }, dataPart()] : value(random, 3);
  function dataPart(): unknown {
    const data = random.pick(['{}', '[[[', '['.repeat(500), '"x"', 'null', text()]);
    return { kind: random.pick(['data', 'text', 'x', 1]), data, mimeType: text() };
  }
  const message = {
    role: random.pick(['user', 'agent', '', null, 1]),
    parts,
    metadata: value(random, 2),
  };
  const ids = { taskId: text(), contextId: random.pick([null, text()]) };
  const state = random.pick([0, 1, 2, 3, 4, 5, 6, -1, 1.5, 1e308, 'Completed', 'x', null]);
  const native = random.next() < 0.2 && {
    legateBody: random.next() < 0.7 ? JSON.stringify(payload(random, targets)) : value(random, 2),
  };
  const body = random.pick([
    () => ({ ...ids, skill: text(), message, metadata: value(random, 2) }),
    () => ({ ...ids, state, message, artifacts: value(random, 3) }),
    () => ({ ...ids, state, artifacts: [{ name: text(), parts }] }),
    () => ({ ...ids, code: text(), message: text(), isRetryable: value(random, 1) }),
    () => ({ ...ids }),
    () => ({
      agentName: text(),
      description: text(),
      version: text(),
      skills: [{ id: text(), name: text(), tags: [text()], examples: value(random, 2) }],
      url: text(),
      protocolVersion: text(),
      supportsStreaming: value(random, 1),
      isDeregistering: random.next() < 0.3,
    }),
  ])();
  return { ...body, ...native };
}

function value(random: Random, depth: number): unknown {
  const kind = random.between(0, depth > 0 ? 9 : 6);
  if (kind === 0) return null;
  if (kind === 1) return random.next() < 0.5;
  if (kind === 2) return random.pick([0, -1, 1e308, 2 ** 53, 0.1]);
  if (kind === 3) return random.pick(['', '\0', '\u202e', 'ROLE_USER', '💥'.repeat(10)]);
  if (kind === 4) return random.pick([[], {}]);
  if (kind === 5) return 'x'.repeat(random.between(0, 2_000));
  const items = Array.from({ length: random.between(0, 4) }, () => value(random, depth - 1));
  if (kind === 6) return items;
  const names = ['id', 'parts', 'text', 'url', '__proto__', 'constructor', 'data', 'raw'];
  return Object.fromEntries(items.map((item) => [random.pick(names), item]));
}
