import { mkdir, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  announceOnce,
  type Bus,
  checkBusName,
  type DeadLetter,
  declareAgentQueue,
  isBusName,
  taskQueueName,
} from '../bus/index.ts';
import { present } from '../config/index.ts';
import { LegateError } from '../protocol/index.ts';
import { generateSigningKey, publicKeySet } from '../push/index.ts';
import { silentLogger } from '../telemetry/index.ts';
import { busIdentity, openConfiguredBus, readEndpoints } from './endpoints.ts';
import type {
  DeadListOptions,
  DeadReplayOptions,
  DeclareOptions,
  KeyOptions,
} from './commands/workers.ts';
import { loadAgent } from './load-agent.ts';
import { createLogger } from './logger.ts';
import { usage } from './usage.ts';

/** Declares the queues of an agent that does not run yet. */
export async function declareAgent(agent: string, options: DeclareOptions): Promise<void> {
  const isNameOnly = isBusName(agent) && options.announce !== true;
  const loaded = isNameOnly
    ? undefined
    : await loadAgent(agent, { ...options, logger: silentLogger });
  const endpoints = await readEndpoints(loaded?.directory ?? '.', options);
  const name = checkBusName(options.name ?? loaded?.agent.name ?? agent, 'the agent');
  await using bus = await openConfiguredBus(endpoints, { logger: createLogger('warn') });
  await declareAgentQueue(bus, name);
  if (loaded !== undefined && options.announce === true) {
    const { signer } = await busIdentity(endpoints, name);
    await announceOnce(loaded.agent, { bus, name, ...(signer !== undefined && { signer }) });
  }
  console.log(taskQueueName(name));
}

/** Lists dead letters with their reasons. */
export async function listDead(agent: string, options: DeadListOptions): Promise<void> {
  const endpoints = await readEndpoints('.', options);
  await using bus = await openConfiguredBus(endpoints, { logger: createLogger('warn') });
  const queue = await existingQueue(bus, agent);
  const letters = await bus.deadLetters(queue, { limit: options.limit });
  for (const letter of letters) {
    console.log(options.json === true ? json(letter, options) : line(letter, options));
  }
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
  await using bus = await openConfiguredBus(endpoints, { logger: createLogger('warn') });
  const queue = await existingQueue(bus, agent);
  const replayed = await bus.replay(queue, options.all === true ? {} : { ids });
  console.log(`${replayed} moved back to ${queue}`);
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
  const name = agent.includes('.') ? agent : taskQueueName(agent);
  if ((await bus.inspect(name)) !== undefined) return name;
  throw new LegateError(
    'INVALID_PARAMS',
    `there is no queue ${name}; "legate bus declare ${agent.includes('.') ? '<agent>' : agent}" makes one`,
  );
}

function json(letter: DeadLetter, { bodies = false }: DeadListOptions): string {
  const { id, reason, diedAt, attempts, message } = letter;
  const { type, topic, correlationId, replyTo, body } = message;
  return JSON.stringify({
    id,
    ...(diedAt > 0 && { diedAt: new Date(diedAt).toISOString() }),
    reason,
    attempts,
    type,
    topic,
    ...present({ correlationId, replyTo }),
    ...(bodies && { body }),
  });
}

function line(letter: DeadLetter, { bodies = false }: DeadListOptions): string {
  const { id, reason, diedAt, attempts, message } = letter;
  const died = diedAt > 0 ? new Date(diedAt).toISOString() : 'time unknown';
  const facts = [id, died, message.type, `attempts ${attempts}`, reason];
  // Senders choose most of these values: control sequences are escaped.
  const head = facts
    .join('  ')
    .replaceAll(/[\p{Cc}\p{Cf}]/gu, (sign) => JSON.stringify(sign).slice(1, -1));
  return bodies ? `${head}\n  ${message.body}` : head;
}
