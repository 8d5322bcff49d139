import {
  type Agent,
  type Caller,
  checkAgent,
  type EndKind,
  isPause,
  type Memory,
  textOf,
} from '../../agents/index.ts';
import {
  AnswerStream,
  checkOptions,
  endsTurn,
  invalidConfiguration,
  type JsonObject,
  LegateError,
  type Message,
  message as toMessage,
  type OptionNames,
  type Part,
  type Task,
} from '../../protocol/index.ts';
import { isStore, openMemory, readOwnerKey, type Store } from '../../store/index.ts';
import { defaultLogger, loggerOption } from '../../telemetry/index.ts';
import { KeyedQueue } from '../../time/index.ts';
import { endKindOf } from '../agent-events.ts';
import type { Call } from '../call.ts';
import { Engine } from '../engine.ts';
import type { EngineOptions } from '../options.ts';
import { storeScheduler } from '../scheduler.ts';
import { Invocation, type InvocationPlan, type InvocationResult } from './invocation.ts';
import { type SessionKey, SessionStore } from './sessions.ts';

/**
 * The agent and the store of a runner.
 * @example
 * const options: RunnerOptions = {
 *   agent,
 *   store: await openStore({ type: 'sqlite', path: 'runs.db' }),
 *   isResumable: false,
 *   keepMs: 3_600_000,
 * };
 */
export interface RunnerOptions<Output = unknown> extends Pick<
  EngineOptions,
  'cancelGraceMs' | 'logger' | 'replica' | 'scheduler'
> {
  /** The agent that handles the messages. */
  readonly agent: Agent<Output>;
  /** Stores sessions and invocations. @default in memory */
  readonly store?: Store;
  /**
   * Whether a run whose process died continues when a runner uses the same store again; otherwise
   * it fails. Costs a write for each step.
   * @default true
   */
  readonly isResumable?: boolean;
  /**
   * How long ended invocations and their messages are kept, in milliseconds; 0 for no limit.
   * @default 7 days
   */
  readonly keepMs?: number;
}

/**
 * A message for a runner.
 * @example
 * const request: RunRequest = {
 *   message: [text('What is in this picture?'), file({ url: 'https://example.com/cat.png' })],
 *   userId: 'alice',
 *   sessionId: 'alice-1',
 *   signal: AbortSignal.timeout(30_000),
 * };
 */
export interface RunRequest {
  /** The message for the agent: text, parts or a whole message. */
  readonly message: string | Part | readonly Part[] | Message;
  /** The caller. @default anonymous */
  readonly userId?: string;
  /** Replaces `userId`, for example to set a tenant or scopes. */
  readonly caller?: Caller;
  /** The conversation to continue. @default a new session */
  readonly sessionId?: string;
  /** Metadata of the request, for the agent. */
  readonly metadata?: JsonObject;
  /** Cancels the run. */
  readonly signal?: AbortSignal;
}

/**
 * The caller and the state of an invocation.
 * @example
 * const mayAnswer = ({ caller, isWaiting }: InvocationInfo, userId: string) =>
 *   isWaiting && caller.subject === userId;
 */
export interface InvocationInfo {
  readonly caller: Caller;
  /** The conversation that it belongs to. */
  readonly sessionId: string;
  readonly state: 'running' | EndKind;
  /** Whether it waits for an answer. */
  readonly isWaiting: boolean;
}

type Content = RunRequest['message'];

const optionNames: OptionNames<RunnerOptions> = {
  agent: 'object',
  store: 'object',
  isResumable: 'boolean',
  keepMs: 'number',
  cancelGraceMs: 'number',
  logger: loggerOption,
  replica: true,
  scheduler: true,
};
const requestNames: OptionNames<RunRequest> = {
  message: true,
  userId: 'string',
  caller: 'object',
  sessionId: 'string',
  metadata: 'object',
  signal: 'object',
};

const mostRemembered = 1_000;
const longestMemory = 16_000;
const sevenDays = 7 * 24 * 60 * 60 * 1000;

/**
 * The task engine without a transport: a session is a context, an invocation is a task. Runs of
 * one session run one at a time, across all processes on the same store. A run that asked a
 * question, or whose process died, is resumed by its invocation id. Stop the runner before you
 * close its store.
 * @example
 * const runner = new Runner({ agent, store: await openStore({ type: 'sqlite', path: 'runs.db' }) });
 * const { text, sessionId } = await runner.run({ message: 'Hello', userId: 'alice' });
 */
export class Runner<Output = unknown> implements AsyncDisposable {
  readonly sessions: SessionStore;
  readonly #options: RunnerOptions<Output> & { readonly store: Store };
  /** Invocations that run in this process, by their ids. */
  readonly #active = new Map<string, Invocation<Output>>();
  readonly #cancels = new KeyedQueue();
  #starting: Promise<Engine> | undefined;

  constructor(options: RunnerOptions<Output>) {
    if ('take' in options || options.agent === undefined)
      throw invalidConfiguration('Runner: no agent; new Runner({ agent })');
    checkOptions('Runner', options, optionNames);
    checkAgent('Runner', options.agent);
    const { agent, store = openMemory() } = options;
    if (!isStore(store))
      throw invalidConfiguration('Runner: its store is not open; store: await openStore({ type })');
    const { scheduler = storeScheduler(store) } = options;
    this.#options = { ...options, store };
    this.sessions = new SessionStore(agent.name, store, scheduler);
  }

  /** Starts a run, which advances as its events are consumed. */
  start(request: RunRequest): Invocation<Output> {
    checkRequest(request);
    const { metadata, signal, sessionId = crypto.randomUUID() } = request;
    const id = crypto.randomUUID();
    const caller = callerOf(request);
    const { taskId: _, ...message } = messageOf(request.message, sessionId);
    return this.#invocation({ id, sessionId, signal }, caller, async (engine, call) => {
      await this.sessions.start(caller, sessionId);
      const sent = { message, ...(metadata !== undefined && { metadata }) };
      return sentTask(await engine.send(sent, { ...call, newTaskId: id }));
    });
  }

  run(request: RunRequest): Promise<InvocationResult<Output>> {
    return this.start(request).result();
  }

  /** Runs an agent and streams the text of its answer; leaving the stream cancels the run. */
  stream(request: RunRequest): AnswerStream<InvocationResult<Output>> {
    return new AnswerStream(this.start(request).changes());
  }

  /**
   * Continues an invocation: with the answer to its question, or, without an answer, after its process
   * died. If the invocation already runs again or has ended, it is followed to its end.
   */
  async resume(
    invocationId: string,
    answer?: Content,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<Invocation<Output>> {
    const { caller, sessionId } = await this.#load(invocationId);
    const plan = { id: invocationId, sessionId, signal: options.signal };
    return this.#invocation(plan, caller, async (engine, call) => {
      const { isWaiting, state } = await this.#load(invocationId);
      if (isWaiting !== (answer !== undefined)) {
        const why = isWaiting ? 'it waits for an answer' : 'it waits for no answer';
        throw notResumable(invocationId, state, why);
      }
      if (answer === undefined) return follow(engine, invocationId, call);
      const message = { ...messageOf(answer, sessionId), taskId: invocationId };
      return sentTask(await engine.send({ message }, call));
    });
  }

  /** The caller and the state of an invocation. */
  async find(invocationId: string): Promise<InvocationInfo | undefined> {
    const { agent, store } = this.#options;
    const record = await store.load(invocationId);
    if (record === undefined) return undefined;
    const { agent: name, tenant, subject } = readOwnerKey(record.owner);
    if (name !== agent.name) return undefined;
    const sessionId = record.contextId;
    const state = endKindOf(record.state) ?? 'running';
    const isWaiting = state !== 'running' && isPause({ kind: state });
    const caller = await this.sessions.callerOf({ caller: { tenant, subject }, sessionId });
    return { caller, sessionId, state, isWaiting };
  }

  /** Adds the messages of a session to the memory of its user. Returns the number of new memories. */
  async remember(memory: Memory, key: SessionKey): Promise<number> {
    const { name: agent } = this.#options.agent;
    const messages = await this.sessions.messages(key, { last: mostRemembered });
    const memories = messages.flatMap(({ messageId: id, role, ...message }) => {
      const text = textOf(message).slice(0, longestMemory).trim();
      const author = role === 'ROLE_USER' ? 'user' : agent;
      return text === '' ? [] : [{ id, text, author, sessionId: key.sessionId }];
    });
    return memory.add({ agent, caller: key.caller }, memories);
  }

  isActive(invocationId: string): boolean {
    return this.#active.has(invocationId);
  }

  /** Cancels an invocation that runs or waits for an answer. Returns false if there is none. */
  cancel(invocationId: string): Promise<boolean> {
    return this.#cancels.run(invocationId, async () => {
      const known = await this.find(invocationId);
      // Read after `find`: an answer may have started its run meanwhile.
      const active = this.#active.get(invocationId);
      if (active !== undefined) {
        active.cancel();
        return true;
      }
      if (known === undefined || (known.state !== 'running' && !known.isWaiting)) return false;
      return this.#cancelTask(invocationId, known.caller);
    });
  }

  /** Stops the invocations that run here. The next runner resumes them if they are resumable. */
  async stop(): Promise<void> {
    await (await this.#starting)?.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  // -------------------------------------------------------------------------------------------------

  #invocation(
    plan: Pick<InvocationPlan<Output>, 'id' | 'sessionId' | 'signal'>,
    caller: Caller,
    run: (engine: Engine, call: Call) => Promise<Task>,
  ): Invocation<Output> {
    const { id } = plan;
    const active = this.#active;
    return new Invocation<Output>({
      ...plan,
      answer: async (content, options) => (await this.resume(id, content, options)).result(),
      cancel: () => {
        this.#cancelTask(id, caller).catch((error: unknown) => {
          const { logger = defaultLogger } = this.#options;
          logger.error({ taskId: id, error }, 'tasks.cancel.failed');
        });
      },
      run: async (invocation, onAdmitted) => {
        if (active.has(id)) throw notResumable(id, 'running', 'it was not interrupted');
        active.set(id, invocation);
        try {
          // Turns that a dead process left behind are taken over as the engine starts.
          return await run(await this.#engine(), { caller, version: '1.0', onAdmitted });
        } finally {
          active.delete(id);
        }
      },
    });
  }

  #engine(): Promise<Engine> {
    const { agent, isResumable = true, keepMs = sevenDays, ...options } = this.#options;
    this.#starting ??= Engine.start({
      ...options,
      agent: this.#runAgent(agent, isResumable),
      retentionMs: keepMs,
      // A program that calls its own agent sets its own limits.
      taskTimeoutMs: 0,
      messageCacheTtlMs: 0,
      maxContexts: 0,
    }).catch((error: unknown) => {
      this.#starting = undefined;
      throw error;
    });
    return this.#starting;
  }

  /** The agent as the engine runs it. Its events go to the invocation, if that runs in this process. */
  #runAgent(agent: Agent, isResumable: boolean): Agent {
    const { name, description, skills, supersedes } = agent;
    const active = this.#active;
    return {
      name,
      description,
      skills,
      inputModes: ['*/*'],
      onInterrupted: isResumable ? 'run-again' : 'fail',
      ...(supersedes !== undefined && { supersedes }),
      take: (turn) => active.get(turn.taskId)?.take(agent, turn) ?? agent.take(turn),
      ...(agent.abandon !== undefined && { abandon: async (turn) => agent.abandon?.(turn) }),
    };
  }

  async #cancelTask(id: string, caller: Caller): Promise<boolean> {
    try {
      await (await this.#engine()).cancelTask({ id }, { caller, version: '1.0' });
      return true;
    } catch (error) {
      // It has ended otherwise meanwhile.
      if (error instanceof LegateError && error.code === 'TASK_NOT_CANCELABLE') return false;
      throw error;
    }
  }

  async #load(id: string): Promise<InvocationInfo> {
    const found = await this.find(id);
    if (found !== undefined) return found;
    throw new LegateError('TASK_NOT_FOUND', `no invocation ${id}`, {
      metadata: { invocationId: id },
    });
  }
}

function sentTask(outcome: Awaited<ReturnType<Engine['send']>>): Task {
  if ('task' in outcome) return outcome.task.value;
  throw new LegateError('INTERNAL', 'a runner makes a task of each message');
}

/** Waits until no turn of a task is in flight. */
async function follow(engine: Engine, id: string, call: Call): Promise<Task> {
  call.onAdmitted?.({ taskId: id, contextId: '' });
  // In 0.3, subscribers to an ended task get its snapshot.
  const stream = await engine.subscribe({ id }, { ...call, version: '0.3' });
  for await (const { body } of stream) {
    if (endsTurn(body.value)) break;
  }
  return (await engine.getTask({ id }, call)).value;
}

function callerOf({ caller, userId = '' }: RunRequest): Caller {
  return caller ?? { tenant: '', subject: userId, method: 'runner' };
}

function checkRequest(request: RunRequest): void {
  if (typeof request === 'object') checkOptions('Runner', request, requestNames);
  if (typeof request !== 'object' || request.message === undefined)
    throw invalidConfiguration(
      "Runner: no message; pass an object: runner.run({ message: 'hello' })",
    );
}

function messageOf(content: Content, contextId: string): Message {
  if (typeof content === 'object' && 'messageId' in content) return { ...content, contextId };
  return toMessage(content, { contextId });
}

function notResumable(id: string, state: string, why: string): LegateError {
  return new LegateError(
    'UNSUPPORTED_OPERATION',
    `invocation ${id} is ${state} and cannot be resumed: ${why}`,
  );
}
