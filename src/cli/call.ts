import { text as readAll } from 'node:stream/consumers';
import {
  type Invocation,
  type InvocationEnd,
  type InvokeRequest,
  joinPeers,
  type PeerNetwork,
  readWellKnownAgents,
  type WellKnownPeer,
} from '../peers/index.ts';
import { httpsOrLoopbackPolicy } from '../push/index.ts';
import { LegateError } from '../protocol/index.ts';
import { openMemory } from '../store/index.ts';
import { CallAnswers } from './call-answers.ts';
import { stateWords } from './client/text.ts';
import { busIdentity, openConfiguredBus, readEndpoints } from './endpoints.ts';
import type { CallCommandOptions } from './commands/workers.ts';
import { createLogger } from './logger.ts';
import { busLink } from '../bus/index.ts';
import { jsonObjectOf, readNamedFile, usage } from './usage.ts';

const session = { id: 'call', caller: { tenant: '', subject: 'user', method: 'local' } };

/** Sends one task to an agent, answers its questions from the terminal, and prints the result. */
export async function call(
  agent: string,
  skill: string,
  message: string,
  options: CallCommandOptions,
): Promise<void> {
  const request = await requestOf(agent, skill, message, options);
  const peers = await peersOf(agent, options);
  const endpoints = await readEndpoints('.', options);
  const isOverHttp = peers.some(({ name, url }) => isSame(name, request.agent) && url);
  const logger = createLogger(options.logLevel);
  await using bus = isOverHttp
    ? null
    : await openConfiguredBus(endpoints, { logger, connectionName: 'legate call' });
  await using network = await joinPeers({
    name: options.name,
    store: openMemory(),
    links: bus === null ? [] : [busLink({ bus, ...(await busIdentity(endpoints, options.name)) })],
    wellKnown: peers,
    isShortLived: true,
    operatorPolicy: { ...httpsOrLoopbackPolicy, schemes: ['http', 'https'], allowPrivate: true },
    logger,
  });
  using answers = new CallAnswers(options.answer ?? [], message !== '-');
  const ended = await converse(network, request, answers);
  show(ended, options);
  process.exitCode = exitCodes[ended.outcome?.end ?? 'error'];
}

/** Answers the questions of the agent until the task ends, or cancels the task. */
async function converse(
  { invoker }: PeerNetwork,
  request: InvokeRequest,
  answers: CallAnswers,
): Promise<Invocation> {
  const stop = new AbortController();
  const cancel = (): void => stop.abort(new LegateError('UNAVAILABLE', 'cancelled'));
  process.once('SIGINT', cancel);
  process.once('SIGTERM', cancel);
  const waiting = {
    signal: stop.signal,
    onProgress: (text: string) => console.error(`${request.agent}: ${text}`),
  };
  try {
    let task = await invoker.invokeAndWait(request, session, waiting);
    while (task.state === 'asking') {
      const { text = '', needsAuthorization = false } = task.question ?? {};
      const question = `${request.agent} asks: ${text}`;
      const answer = needsAuthorization ? undefined : await answers.next(question, stop.signal);
      if (needsAuthorization) console.error(question);
      if (answer === undefined) {
        await invoker.cancel(task.id);
        const end = needsAuthorization ? 'TASK_STATE_AUTH_REQUIRED' : 'TASK_STATE_INPUT_REQUIRED';
        return { ...task, outcome: { end, text, data: [] } };
      }
      await invoker.answer(task.id, answer);
      task = await invoker.wait(task.id, waiting);
    }
    return task;
  } finally {
    process.removeListener('SIGINT', cancel);
    process.removeListener('SIGTERM', cancel);
  }
}

const exitCodes: Readonly<Record<InvocationEnd, number>> = {
  TASK_STATE_COMPLETED: 0,
  TASK_STATE_FAILED: 1,
  TASK_STATE_REJECTED: 1,
  TASK_STATE_CANCELED: 1,
  TASK_STATE_INPUT_REQUIRED: 1,
  error: 1,
  TASK_STATE_AUTH_REQUIRED: 4,
  'timed-out': 5,
};

function show(
  { id, agent, skill, remote, outcome }: Invocation,
  { json }: CallCommandOptions,
): void {
  const { end = 'error', text = '', data = [] } = outcome ?? {};
  if (json === true) {
    const { taskId, contextId } = remote ?? {};
    console.log(JSON.stringify({ id, agent, skill, end, text, data, taskId, contextId }));
    return;
  }
  if (end !== 'TASK_STATE_COMPLETED') {
    console.error(`${agent}: ${stateWords(end)}${text === '' ? '' : `: ${text}`}`);
    return;
  }
  if (text !== '') console.log(text);
  for (const each of data) console.log(JSON.stringify(each));
}

async function requestOf(
  agent: string,
  skill: string,
  message: string,
  { data, metadata = [], timeout }: CallCommandOptions,
): Promise<InvokeRequest> {
  return {
    agent: isAddress(agent) ? nameFor(agent) : agent,
    skill,
    message: message === '-' ? (await readAll(process.stdin)).trimEnd() : message,
    timeoutMs: timeout * 60_000,
    ...(data !== undefined && { data: jsonObjectOf(data, '--data') }),
    ...(metadata.length > 0 && { metadata: Object.fromEntries(metadata.map(readPair)) }),
  };
}

function readPair(pair: string): [string, string] {
  const at = pair.indexOf('=');
  if (at > 0) return [pair.slice(0, at), pair.slice(at + 1)];
  throw usage(`--metadata ${pair}: write name=value`);
}

/** The well-known peers, with the agent of the command line, which then needs no announcement. */
async function peersOf(
  agent: string,
  { wellKnown }: CallCommandOptions,
): Promise<readonly WellKnownPeer[]> {
  const known = wellKnown === undefined ? [] : readWellKnownAgents(await readNamedFile(wellKnown));
  if (isAddress(agent)) return [...known, { name: nameFor(agent), url: agent }];
  return known.some(({ name }) => isSame(name, agent)) ? known : [...known, { name: agent }];
}

function isAddress(agent: string): boolean {
  return /^https?:\/\//.test(agent);
}

function nameFor(address: string): string {
  const url = URL.parse(address);
  if (url === null) throw usage(`${address} is not a URL`);
  return `${url.host}${url.pathname.replace(/\/+$/, '')}`;
}

function isSame(left: string, right: string): boolean {
  return left.toLowerCase() === right.toLowerCase();
}
