import { mkdir, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import {
  announceOnce,
  type Bus,
  cancelQueueName,
  checkBusName,
  type DeadLetter,
  declareAgentQueue,
  isBusName,
  isResponseQueueOf,
  taskQueueName,
} from '../bus/index.ts';
import { present } from '../config/index.ts';
import { invalidConfiguration, LegateError } from '../protocol/index.ts';
import { generateSigningKey, publicKeySet } from '../push/index.ts';
import { silentLogger } from '../telemetry/index.ts';
import { busIdentity, type Endpoints, openConfiguredBus, readEndpoints } from './endpoints.ts';
import type {
  DeadListOptions,
  DeadReplayOptions,
  DeclareOptions,
  DeleteOptions,
  KeyOptions,
  PurgeOptions,
} from './commands/workers.ts';
import { loadAgent } from './load-agent.ts';
import { managedQueues } from './bus-status.ts';
import { createLogger } from './logger.ts';
import { alignColumns, oneLine, printResult } from './print.ts';
import { usage } from './usage.ts';

/** Declares the queues of an agent before its first start. */
export async function declareAgent(agent: string, options: DeclareOptions): Promise<void> {
  const isNameOnly = isBusName(agent) && options.announce !== true;
  const loaded = isNameOnly
    ? undefined
    : await loadAgent(agent, { ...options, logger: silentLogger });
  const endpoints = await readEndpoints(loaded?.directory ?? '.', options);
  const name = checkBusName(options.name ?? loaded?.agent.name ?? agent, 'the agent');
  await using bus = await openBusFor(endpoints, 'declare');
  const declared = await declareAgentQueue(bus, name, { migrates: options.migrate === true });
  if (loaded !== undefined && options.announce === true) {
    const { signer } = await busIdentity(endpoints, name);
    await announceOnce(loaded.agent, { bus, name, ...(signer !== undefined && { signer }) });
  }
  const lines = alignColumns(declared.map(({ kind, name: queue, state }) => [kind, queue, state]));
  declared.forEach((each, at) => printResult(each, lines[at] ?? '', options));
  const differing = declared.filter(({ state }) => state === 'differs');
  if (differing.length === 0) return;
  throw invalidConfiguration(
    `${differing.map((each) => each.name).join(', ')}: there with other arguments, and used as they are. To replace them and keep their messages, stop the workers of ${name} and run "legate bus declare ${agent} --migrate"`,
  );
}

function openBusFor(endpoints: Endpoints, what: string): Promise<Bus> {
  const logger = createLogger('warn');
  return openConfiguredBus(endpoints, { logger, connectionName: `legate bus ${what}` });
}

/** Deletes the messages of a queue after confirmation. */
export async function purgeQueue(agent: string, options: PurgeOptions): Promise<void> {
  const endpoints = await readEndpoints('.', options);
  await using bus = await openBusFor(endpoints, 'purge');
  const queue = await existingQueue(bus, agent);
  const state = await bus.inspect(queue);
  const isDead = options.dead === true;
  const count = (isDead ? state?.deadLetters : state?.messages) ?? 0;
  const what = isDead ? 'dead letters' : 'waiting messages';
  if (!(await agreed(`Delete ${count} ${what} of ${queue}?`, options))) return;
  const purged = await bus.purge(isDead ? bus.deadQueueName(queue) : queue);
  printResult({ queue, deleted: purged }, `${purged} deleted from ${queue}`, options);
}

/** Deletes the queues of an agent after confirmation. */
export async function deleteQueues(agent: string, options: DeleteOptions): Promise<void> {
  const endpoints = await readEndpoints('.', options);
  await using bus = await openBusFor(endpoints, 'delete');
  const queue = await existingQueue(bus, agent);
  const { messages = 0, deadLetters = 0, consumers = 0 } = (await bus.inspect(queue)) ?? {};
  const contents = `${messages} messages, ${deadLetters} dead letters and ${consumers} consumers`;
  const isAgent = !agent.includes('.');
  const answers = isAgent ? await responseQueues(agent, endpoints, options) : [];
  const others = answers.length === 0 ? '' : `, and ${answers.join(', ')}`;
  if (!(await agreed(`Delete ${queue} with ${contents}${others}?`, options))) return;
  await bus.delete(queue);
  if (isAgent) await bus.delete(cancelQueueName(agent));
  for (const each of answers) await bus.delete(each);
  for (const each of [queue, ...answers]) printResult({ queue: each }, `${each} deleted`, options);
  if (!isAgent || answers.length > 0) return;
  console.error(
    `Queues of answers to ${agent} (legate.response.${agent}-*) stay, where there are any: they expire without their agent (queues.reply_expiry, 7 days), or name them to delete them now.`,
  );
}

/** The response queues of an agent. Only the management API can list them. */
async function responseQueues(
  agent: string,
  endpoints: Endpoints,
  options: DeleteOptions,
): Promise<readonly string[]> {
  const managed = await managedQueues(endpoints, options);
  if (managed instanceof LegateError) return [];
  return managed.map(({ name }) => name).filter((name) => isResponseQueueOf(agent, name));
}

/** Asks for confirmation on a terminal. Without a terminal, `--yes` is required. */
async function agreed(question: string, { yes }: { readonly yes?: boolean }): Promise<boolean> {
  if (yes === true) return true;
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw usage(`${question} Confirm with --yes: there is no terminal`);
  }
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const isAgreed = /^y(es)?$/i.test((await lines.question(`${question} [y/N] `)).trim());
    if (!isAgreed) console.error('Nothing was deleted.');
    return isAgreed;
  } finally {
    lines.close();
  }
}

/** Lists dead letters with their reasons. */
export async function listDead(agent: string, options: DeadListOptions): Promise<void> {
  const endpoints = await readEndpoints('.', options);
  await using bus = await openBusFor(endpoints, 'dead');
  const queue = await existingQueue(bus, agent);
  const letters = await bus.deadLetters(queue, { limit: options.limit });
  for (const letter of letters)
    printResult(factsOf(letter, options), line(letter, options), options);
  if (letters.length === 0 && options.json !== true) {
    console.error(`There are no dead letters of ${queue}.`);
  }
}

/** Moves dead letters back into their queue. */
export async function replayDead(
  agent: string,
  ids: readonly string[],
  options: DeadReplayOptions,
): Promise<void> {
  if ((ids.length === 0) === (options.all !== true)) {
    throw usage('which dead letters? Give their ids, or --all');
  }
  const endpoints = await readEndpoints('.', options);
  await using bus = await openBusFor(endpoints, 'dead');
  const queue = await existingQueue(bus, agent);
  const replayed = await bus.replay(queue, options.all === true ? {} : { ids });
  printResult({ queue, replayed }, `${replayed} moved back to ${queue}`, options);
  if (options.all === true || replayed === new Set(ids).size) return;
  throw new LegateError(
    'INVALID_PARAMS',
    `${new Set(ids).size - replayed} of these are not dead letters of ${queue}; "legate bus dead list" lists them`,
  );
}

/** Generates a key pair: the private key for its owner, the public key for agents that verify its signatures. */
export async function makeKey(name: string, { out }: KeyOptions): Promise<void> {
  checkBusName(name, 'the key');
  const [secret, shown] = [join(out, `${name}.pem`), join(out, `${name}.jwks.json`)];
  if (existsSync(secret)) {
    throw usage(`${secret} exists already and was not changed`);
  }
  const key = generateSigningKey();
  await mkdir(out, { recursive: true });
  const pem = key.privateKey.export({ type: 'pkcs8', format: 'pem' });
  await writeFile(secret, pem, { mode: 0o600, flag: 'wx' });
  await writeFile(shown, `${JSON.stringify(publicKeySet([key]), null, 2)}\n`);
  console.log(`${secret}\n${shown}`);
}

/** The task queue of an agent, or the queue of that name. Names of agents contain no dots. */
async function existingQueue(bus: Bus, agent: string): Promise<string> {
  const name = bus.brokerQueueName(agent.includes('.') ? agent : taskQueueName(agent));
  if ((await bus.inspect(name)) !== undefined) return name;
  throw new LegateError(
    'INVALID_PARAMS',
    `there is no queue ${name}; "legate bus declare ${agent.includes('.') ? '<agent>' : agent}" makes one`,
  );
}

function factsOf(letter: DeadLetter, { bodies = false }: DeadListOptions): object {
  const { id, reason, diedAt, attempts, message } = letter;
  const { type, topic, correlationId, replyTo, body } = message;
  return {
    id,
    ...(diedAt > 0 && { diedAt: new Date(diedAt).toISOString() }),
    reason,
    attempts,
    type,
    topic,
    ...present({ correlationId, replyTo }),
    ...(bodies && { body }),
  };
}

function line(letter: DeadLetter, { bodies = false }: DeadListOptions): string {
  const { id, reason, diedAt, attempts, message } = letter;
  const died = diedAt > 0 ? new Date(diedAt).toISOString() : 'time unknown';
  const facts = [id, died, message.type, `attempts ${attempts}`, reason];
  // Senders choose most of these values.
  const head = facts.map(oneLine).join('  ');
  return bodies ? `${head}\n  ${message.body}` : head;
}
