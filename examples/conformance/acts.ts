/**
 * `node examples/conformance/acts.ts <folder of *.acts.yaml> <agent>`: runs the declarative tests of the
 * A2A project (ACTS) against an agent over JSON-RPC; raw steps are sent unchanged. Prints each failure
 * and the counts by level. Skips tests of other bindings and of clients, and tests whose preconditions
 * are not met.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parse } from 'yaml';
import { SseParser } from '../../src/protocol/index.ts';

type Value = unknown;
type Fields = { readonly [name: string]: Value };

const methods: Readonly<Record<string, string>> = {
  send_message: 'SendMessage',
  send_streaming_message: 'SendStreamingMessage',
  get_task: 'GetTask',
  list_tasks: 'ListTasks',
  cancel_task: 'CancelTask',
  subscribe_to_task: 'SubscribeToTask',
  get_extended_agent_card: 'GetExtendedAgentCard',
  set_push_notification_config: 'CreateTaskPushNotificationConfig',
  get_push_notification_config: 'GetTaskPushNotificationConfig',
  list_push_notification_configs: 'ListTaskPushNotificationConfigs',
  delete_push_notification_config: 'DeleteTaskPushNotificationConfig',
};

/** The numbers of specification 1.0.1, which takes precedence over the table of ACTS (6.2). */
const codes: Readonly<Record<string, readonly number[]>> = {
  TaskNotFoundError: [-32001],
  TaskNotCancelableError: [-32002],
  PushNotificationNotSupportedError: [-32003],
  UnsupportedOperationError: [-32004],
  StreamingNotSupportedError: [-32004],
  ContentTypeNotSupportedError: [-32005],
  ExtensionSupportRequiredError: [-32008],
  VersionNotSupportedError: [-32009],
  InvalidParamsError: [-32602, -32600],
  MethodNotFoundError: [-32601],
  JSONParseError: [-32700],
};

const [folder = '', agent = 'http://localhost:9999'] = process.argv.slice(2);
const card = fields(await (await fetch(`${agent}/.well-known/agent-card.json`)).json());
const counts = new Map<string, number>();
const count = (key: string): unknown => counts.set(key, (counts.get(key) ?? 0) + 1);

function reasonToSkip(test: Fields): string | undefined {
  const transports = items(test.transport);
  const isRaw = items(test.steps).every((step) => 'raw' in fields(step));
  const spoken = isRaw ? ['jsonrpc', 'rest'] : ['jsonrpc'];
  if (transports.length > 0 && !transports.some((one) => spoken.includes(String(one)))) {
    return 'another binding';
  }
  if (items(test.steps).some((step) => 'client_response' in fields(step))) return 'of clients';
  if (items(test.tags).includes('runner-special')) return 'needs a runner of its own';
  const wanted = fields(fields(test.preconditions).capabilities);
  const declared = fields(card.capabilities);
  for (const [name, value] of Object.entries(wanted)) {
    if ((declared[name] ?? false) !== value) return `the card does not have ${name}`;
  }
  return undefined;
}

async function runTest(test: Fields): Promise<void> {
  const known = new Map<string, Value>([
    ['baseUrl', agent],
    ['webhookUrl', 'https://example.com/webhook'],
  ]);
  for (const step of items(test.steps).map(fields)) {
    const { until, max_attempts: most = 10, delay_ms: delay = 1_000 } = fields(step.repeat);
    let response = await runStep(step, known);
    const isDone = (): boolean => until === undefined || holds(text(until), response);
    for (let attempt = 1; !isDone(); attempt += 1) {
      if (attempt >= Number(most)) throw new Error(`${String(step.id)}: never ${text(until)}`);
      await wait(Number(delay));
      response = await runStep(step, known);
    }
    known.set(`${String(step.id)}.response`, response);
    for (const [name, path] of Object.entries(fields(step.capture))) {
      known.set(`${String(step.id)}.${name}`, at(response, text(path)));
    }
  }
}

/** Runs a step and checks its response; resolves with the response that paths are relative to. */
async function runStep(step: Fields, known: ReadonlyMap<string, Value>): Promise<Value> {
  const { status, body, events } = await send(fields(filled(step, known)), step);
  const say = (problem: string): never => {
    throw new Error(`${String(step.id)}: ${problem}; got ${JSON.stringify(body ?? events)}`);
  };
  const isRaw = 'raw' in step;
  const { result = body, error } = isRaw ? { error: fields(body).error } : fields(body);
  if (step.expect_error !== undefined) {
    // The tests use `code`, with one name or several, where the specification has `error_type`.
    const { error_type: type, code: names = type } = fields(step.expect_error);
    const wanted = typeof names === 'string' ? [names] : items(fields(names).one_of).map(String);
    const code = Number(fields(error).code);
    if (wanted.length === 0 && error !== undefined) return result;
    if (!wanted.some((name) => codes[name]?.includes(code) === true)) {
      say(`expected ${wanted.join(' or ')}`);
    }
    return result;
  }
  if (step.expect_stream !== undefined) {
    const stream = fields(filled(step.expect_stream, known));
    if (events === undefined) return say('expected a stream');
    if (events.length < Number(stream.min_count ?? 0)) say(`fewer events`);
    for (const event of items(stream.events).map(fields)) checkEvent(event, events, say);
    if (stream.final_event !== undefined) {
      check(payloadOf(events.at(-1), fields(stream.final_event)), stream.final_event, 'final', say);
    }
    return events;
  }
  const expected = fields(filled(step.expect, known));
  if (expected.status === 'error') return error === undefined ? say('expected an error') : result;
  if (expected.status !== undefined) check(status, expected.status, 'status', say);
  const wantsError = expected.error !== undefined;
  if ((error !== undefined) !== wantsError && !isRaw && step.expect !== undefined) {
    say(wantsError ? 'expected an error' : 'an error');
  }
  if (expected.body !== undefined) check(isRaw ? body : result, expected.body, 'body', say);
  return isRaw ? body : result;
}

const payloads: Readonly<Record<string, string>> = {
  status_update: 'statusUpdate',
  artifact_update: 'artifactUpdate',
};

function checkEvent(event: Fields, seen: readonly Value[], say: (problem: string) => never): void {
  const { match, index = 0, description: _, ...rest } = event;
  const wanted = Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [payloads[name] ?? name, value]),
  );
  const fits = (one: Value): boolean => {
    try {
      check(payloadOf(one, wanted), wanted, 'event', (problem) => {
        throw new Error(problem);
      });
      return true;
    } catch {
      return false;
    }
  };
  if (match === 'any_position') {
    if (!seen.some(fits)) say(`no event is ${JSON.stringify(wanted)}`);
  } else check(payloadOf(seen[Number(index)], wanted), wanted, `event ${text(index)}`, say);
}

function renamed(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(entries.map(([name, one]) => [payloads[name] ?? name, one]));
}

/** The payload of an event: tests name its fields with or without the payload's name. */
function payloadOf(event: Value, wanted: Fields): Value {
  const isWrapped = Object.keys(wanted).some((name) => name in fields(event) || name in operators);
  return isWrapped ? event : Object.values(fields(event))[0];
}

interface Came {
  readonly status: number;
  readonly body?: Value;
  readonly events?: readonly Value[];
}

async function send(step: Fields, written: Fields): Promise<Came> {
  const { operation, params } = step;
  if (written.raw !== undefined) {
    const { method = 'POST', path = '/', headers, body, body_raw: raw } = fields(step.raw);
    const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    return post(`${agent}${text(path)}`, text(method), fields(headers), sent);
  }
  const isExtended = fields(params).extended === true;
  if (operation === 'get_agent_card' && !isExtended) {
    return post(`${agent}/.well-known/agent-card.json`, 'GET', {}, undefined);
  }
  const { message, pushNotificationConfig, taskId, contextId, ...rest } = fields(params);
  // Conversation tests put the ids of a message beside it.
  const ids = {
    ...(taskId !== undefined && { taskId }),
    ...(contextId !== undefined && { contextId }),
  };
  const request = {
    ...rest,
    ...(message === undefined && ids),
    ...fields(pushNotificationConfig),
    ...(message !== undefined && {
      message: { messageId: crypto.randomUUID(), ...ids, ...fields(message) },
    }),
  };
  const name = isExtended ? 'get_extended_agent_card' : String(operation);
  const method = methods[name] ?? name;
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: request });
  const headers = { 'Content-Type': 'application/json', 'A2A-Version': '1.0' };
  return post(agent, 'POST', headers, body);
}

async function post(url: string, method: string, headers: Fields, body: Value): Promise<Came> {
  const response = await fetch(url, {
    method,
    headers: Object.entries(headers).map(([name, value]): [string, string] => [
      name,
      String(value),
    ]),
    ...(typeof body === 'string' && { body }),
    signal: AbortSignal.timeout(20_000),
  });
  const { status } = response;
  if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) {
    const read = await response.text();
    return { status, body: read === '' ? undefined : (JSON.parse(read) as Value) };
  }
  const parser = new SseParser({ maxEventBytes: 1_000_000 });
  const events: Value[] = [];
  for await (const bytes of response.body ?? []) {
    for (const { data } of parser.push(bytes)) {
      const event = fields(JSON.parse(data));
      events.push(event.result ?? event);
    }
  }
  return { status, events };
}

/** Checks a value against an assertion (ACTS 5). */
function check(value: Value, wanted: Value, path: string, say: (problem: string) => never): void {
  if (Array.isArray(wanted)) {
    for (const [index, one] of wanted.entries()) {
      check(items(value)[index], one, `${path}[${index}]`, say);
    }
    return;
  }
  if (typeof wanted !== 'object' || wanted === null) {
    if (value !== wanted) say(`${path} is not ${JSON.stringify(wanted)}`);
    return;
  }
  for (const [name, operand] of Object.entries(wanted)) {
    if (name === 'items' && Array.isArray(operand)) {
      check(value, operand, path, say);
      continue;
    }
    const index = /^items\[(\d+)\]$/.exec(name)?.[1];
    if (index !== undefined || (name === 'items' && Array.isArray(value))) {
      const chosen = index === undefined ? items(value) : [items(value)[Number(index)]];
      for (const one of chosen) check(one, operand, `${path}.${name}`, say);
      continue;
    }
    const operator = operators[name];
    if (operator === undefined) check(fields(value)[name], operand, `${path}.${name}`, say);
    else if (!operator(value, operand)) say(`${path} is not ${name} ${JSON.stringify(operand)}`);
  }
}

const isFit = (value: Value, wanted: Value): boolean => {
  try {
    check(value, wanted, '', (problem) => {
      throw new Error(problem);
    });
    return true;
  } catch {
    return false;
  }
};
const kindOf = (value: Value): string =>
  Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;
const operators: Readonly<Record<string, (value: Value, operand: Value) => boolean>> = {
  type: (value, kind) => kindOf(value) === kind,
  exists: (value, is) => (value !== undefined) === is,
  absent: (value, is) => (value === undefined) === is,
  contains: (value, text) => String(value).includes(String(text)),
  matches: (value, pattern) => new RegExp(String(pattern)).test(String(value)),
  starts_with: (value, text) => String(value).startsWith(String(text)),
  ends_with: (value, text) => String(value).endsWith(String(text)),
  gte: (value, least) => Number(value) >= Number(least),
  lte: (value, most) => Number(value) <= Number(most),
  gt: (value, other) => Number(value) > Number(other),
  lt: (value, other) => Number(value) < Number(other),
  count: (value, length) => items(value).length === length,
  count_gte: (value, length) => items(value).length >= Number(length),
  count_lte: (value, length) => items(value).length <= Number(length),
  one_of: (value, list) => items(list).some((one) => isFit(value, renamed(one))),
  all_of: (value, list) => items(list).every((one) => isFit(value, one)),
  any_of: (value, list) => items(list).some((one) => isFit(value, one)),
  not: (value, one) => !isFit(value, one),
};

/** A condition such as `status.state in [A, B]`. */
function holds(until: string, response: Value): boolean {
  const [, path = '', operator, literal = ''] = /^(\S+) (==|!=|in) (.*)$/.exec(until) ?? [];
  const value = String(at(response, path));
  const listed = literal
    .replaceAll(/[[\]"']/g, '')
    .split(',')
    .map((one) => one.trim());
  return listed.includes(value) !== (operator === '!=');
}

function at(value: Value, path: string): Value {
  let current = value;
  for (const name of path.split(/[.[\]]+/).filter((part) => part !== '')) {
    current = Array.isArray(current) ? items(current)[Number(name)] : fields(current)[name];
  }
  return current;
}

/** Replaces `{{names}}` in the value by known values. */
function filled(value: Value, known: ReadonlyMap<string, Value>): Value {
  if (typeof value === 'string') {
    const whole = /^\{\{([^}]+)\}\}$/.exec(value)?.[1]?.trim();
    if (whole !== undefined) return known.get(whole);
    return value.replaceAll(/\{\{([^}]+)\}\}/g, (_, name: string) =>
      String(known.get(name.trim())),
    );
  }
  if (Array.isArray(value)) return value.map((one) => filled(one, known));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, filled(one, known)]));
}

function fields(value: Value): Fields {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function text(value: Value): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function items(value: Value): readonly Value[] {
  return Array.isArray(value) ? value : [];
}

for (const file of globSync('*.acts.yaml', { cwd: folder }).toSorted()) {
  const { suites } = fields(parse(readFileSync(join(folder, file), 'utf8')));
  for (const test of items(suites).flatMap((suite) => items(fields(suite).tests).map(fields))) {
    const level = String(test.level);
    const why = reasonToSkip(test);
    if (why !== undefined) {
      count(`${level} skipped`);
      continue;
    }
    try {
      await runTest(test);
      count(`${level} passed`);
    } catch (error) {
      count(`${level} failed`);
      console.log(`${level} ${String(test.id)} (${file}): ${String(error).slice(0, 300)}`);
    }
  }
}
for (const key of [...counts.keys()].toSorted()) console.log(`${key}: ${counts.get(key)}`);
