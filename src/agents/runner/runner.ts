import {
  type JsonObject,
  LegateError,
  message as toMessage,
  type Message,
  type Part,
} from '../../protocol/index.ts';
import type { RecordStore, RecordWrite, Store } from '../../store/index.ts';
import { defaultLogger, type Logger } from '../../telemetry/index.ts';
import { KeyedQueue } from '../../time/index.ts';
import type { Agent, Caller, Clock, EndKind, Reply, Turn, TurnEnd, TurnEvent } from '../agent.ts';
import { textOf } from '../define.ts';
import { failureOf, isPause } from '../drive.ts';
import type { Memory } from '../memory/memory.ts';
import { untilForced } from '../until-forced.ts';
import { turnRecords } from '../sessions/turn-records.ts';
import { isEnd, TurnOutput } from '../turn-output.ts';
import { Invocation, type InvocationResult } from './invocation.ts';
import { InvocationStore, type KeptInvocation } from './invocation-store.ts';
import { type LoadedSession, type SessionKey, SessionStore } from './session-store.ts';

/**
 * What a runner runs, and where it keeps things.
 * @example
 * const options: RunnerOptions = {
 *   agent,
 *   store: await openStore({ type: 'memory' }),
 *   isResumable: false,
 *   keepMs: 3_600_000,
 * };
 */
export interface RunnerOptions {
  readonly agent: Agent;
  /** Where sessions are kept. */
  readonly store: Pick<Store, 'records'>;
  /** Whether a run whose process died can be resumed. Costs a write for each step. @default true */
  readonly isResumable?: boolean;
  /** How long ended and paused invocations are remembered, in milliseconds. @default 7 days */
  readonly keepMs?: number;
  /** Time that a run has to stop by itself after a cancel, in milliseconds. @default 5_000 */
  readonly cancelGraceMs?: number;
  /** @default warnings and errors on standard error */
  readonly logger?: Logger;
  /** @default Date */
  readonly clock?: Clock;
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
  readonly message: string | Part | readonly Part[] | Message;
  /** Who asks. @default nobody in particular */
  readonly userId?: string;
  /** In place of `userId`, where more is known. */
  readonly caller?: Caller;
  /** @default a new session */
  readonly sessionId?: string;
  readonly metadata?: JsonObject;
  readonly signal?: AbortSignal;
}

/**
 * What is known of an invocation.
 * @example
 * const mayAnswer = ({ caller, isWaiting }: InvocationInfo, userId: string) =>
 *   isWaiting && caller.subject === userId;
 */
export interface InvocationInfo {
  readonly caller: Caller;
  readonly sessionId: string;
  readonly state: 'running' | EndKind;
  readonly isWaiting: boolean;
}

type Content = RunRequest['message'];
type EndEvent = TurnEnd | Reply;
type RunEnd = { readonly error?: unknown };

const mostRemembered = 1_000;
const longestMemory = 16_000;
const sevenDays = 7 * 24 * 60 * 60 * 1000;

/**
 * Runs an agent without a door: in sessions that are kept, one run at a time in each. A run that
 * asks back, or whose process died, is resumed by its invocation id.
 * @example
 * const runner = new Runner({ agent, store: await openStore({ type: 'sqlite', path: 'runs.db' }) });
 * const { text, sessionId } = await runner.run({ message: 'Hello', userId: 'alice' });
 */
export class Runner {
  readonly sessions: SessionStore;
  readonly #options: RunnerOptions;
  readonly #records: RecordStore;
  readonly #clock: Clock;
  readonly #active = new Map<string, Invocation>();
  readonly #invocations: InvocationStore;
  readonly #queue = new KeyedQueue();

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#records = options.store.records;
    this.#clock = options.clock ?? Date;
    const { name } = options.agent;
    const { keepMs = sevenDays } = options;
    this.sessions = new SessionStore(name, this.#records, this.#clock);
    this.#invocations = new InvocationStore(name, this.#records, this.#clock, keepMs);
  }

  /** Begins a run, which goes on as its events are taken. */
  start(request: RunRequest): Invocation {
    const id = crypto.randomUUID();
    const sessionId = request.sessionId ?? crypto.randomUUID();
    const kept: KeptInvocation = {
      sessionId,
      caller: callerOf(request),
      state: 'running',
      attempt: 1,
      message: messageOf(request.message, id, sessionId),
      isContinuation: false,
      metadata: request.metadata ?? {},
    };
    return this.#begin(id, sessionId, async () => kept, request.signal);
  }

  run(request: RunRequest): Promise<InvocationResult> {
    return this.start(request).result();
  }

  /**
   * Goes on with an invocation: with the answer to its question, or, without a message, where its
   * process died.
   */
  async resume(
    invocationId: string,
    answer?: Content,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<Invocation> {
    const known = await this.#invocations.load(invocationId);
    const { sessionId } = known;
    return this.#begin(
      invocationId,
      sessionId,
      async () => {
        // Another run may have been faster, while this one waited for its session.
        const kept = await this.#invocations.load(invocationId);
        if (answer !== undefined && isWaiting(kept)) {
          const message = messageOf(answer, invocationId, sessionId);
          return { ...kept, state: 'running', attempt: 1, message, isContinuation: true };
        }
        if (answer === undefined && kept.state === 'running') {
          return { ...kept, attempt: kept.attempt + 1 };
        }
        throw notResumable(invocationId, kept.state, answer !== undefined);
      },
      options.signal,
    );
  }

  /** Whose invocation it is, and whether it waits for an answer. */
  async find(invocationId: string): Promise<InvocationInfo | undefined> {
    const kept = await this.#invocations.find(invocationId);
    if (kept === undefined) return undefined;
    const { caller, sessionId, state } = kept;
    return { caller, sessionId, state, isWaiting: isWaiting(kept) };
  }

  /** Adds what was said in a session to what is remembered of its user. Returns how much was new. */
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

  /** Stops an invocation that runs here, or one that waits for an answer. False: there is none. */
  async cancel(invocationId: string): Promise<boolean> {
    const known = this.isActive(invocationId) ? undefined : await this.find(invocationId);
    // Asked only now: an answer may have started its run while we looked. From here to the session's
    // queue nothing else can, so a run either is stopped or comes after us and finds it cancelled.
    const active = this.#active.get(invocationId);
    if (active !== undefined) {
      active.cancel();
      return true;
    }
    if (known?.isWaiting !== true) return false;
    const key = { caller: known.caller, sessionId: known.sessionId };
    const leave = await this.#enter(key);
    try {
      // Loaded first: the save fails if another process changes the session after that.
      const session = await this.sessions.load(key);
      const kept = await this.#invocations.load(invocationId);
      if (!isWaiting(kept)) return false;
      const { turn, records } = this.#turn(invocationId, kept, session, new AbortController());
      const end = (await this.#options.agent.abandon?.(turn)) ?? {};
      const canceled: TurnEnd = { ...end, kind: 'canceled' };
      await this.#save(invocationId, kept, session, canceled, [], await records.writes());
      return true;
    } finally {
      leave();
    }
  }

  // -------------------------------------------------------------------------------------------------

  #begin(
    id: string,
    sessionId: string,
    prepare: () => Promise<KeptInvocation>,
    signal: AbortSignal | undefined,
  ): Invocation {
    const controller = new AbortController();
    const follow = (): void => controller.abort(signal?.reason);
    if (signal?.aborted === true) follow();
    const run = (): AsyncGenerator<TurnEvent, RunEnd> => this.#run(id, prepare, controller);
    const active = this.#active;
    const invocation: Invocation = new Invocation({
      id,
      sessionId,
      controller,
      events: async function* () {
        if (active.has(id)) throw notResumable(id, 'running', true);
        active.set(id, invocation);
        signal?.addEventListener('abort', follow, { once: true });
        try {
          return yield* run();
        } finally {
          signal?.removeEventListener('abort', follow);
          active.delete(id);
        }
      },
    });
    return invocation;
  }

  async *#run(
    id: string,
    prepare: () => Promise<KeptInvocation>,
    controller: AbortController,
  ): AsyncGenerator<TurnEvent, RunEnd> {
    const first = await prepare();
    const key = { caller: first.caller, sessionId: first.sessionId };
    const leave = await this.#enter(key);
    try {
      const isNew = first.attempt === 1 && !first.isContinuation;
      const kept = isNew ? first : await prepare();
      const session = await this.sessions.load(key);
      await this.#records.write([this.#invocations.write(id, kept)], this.#clock.now());
      const { turn, records } = this.#turn(id, kept, session, controller);
      const output = new TurnOutput();
      let event: EndEvent = { kind: 'canceled' };
      let error: unknown;
      try {
        event = yield* this.#take(turn, output);
      } catch (thrown) {
        if (!controller.signal.aborted) {
          error = thrown;
          turn.logger.error({ error }, 'agents.agent.failed');
          event = failureOf(thrown, this.#options.agent.name);
        }
      } finally {
        // Also where the consumer left: then the run is over, and was cancelled.
        const end: TurnEnd = event.kind === 'message' ? { ...event, kind: 'completed' } : event;
        const told = messagesOf(kept.message, output, id, end);
        await this.#save(id, kept, session, end, told, await records.writes());
      }
      yield event;
      return { error };
    } finally {
      leave();
    }
  }

  /** Pulls the agent to its end, which is for the caller to give out once it is saved. */
  async *#take(turn: Turn, output: TurnOutput): AsyncGenerator<TurnEvent, EndEvent> {
    const { agent, cancelGraceMs = 5_000 } = this.#options;
    turn.signal.throwIfAborted();
    const events = agent.take(turn)[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await untilForced(events.next(), turn.signal, cancelGraceMs);
        if (next.done === true) {
          turn.signal.throwIfAborted();
          return { kind: 'completed' };
        }
        const event = next.value;
        output.add(event);
        if (isEnd(event)) return event;
        yield event;
        turn.signal.throwIfAborted();
      }
    } finally {
      // Lets the agent clean up; it had its grace time, so nobody waits for it.
      events.return?.().catch((error: unknown) => {
        turn.logger.warn({ error }, 'agents.agent.cleanup_failed');
      });
    }
  }

  #turn(id: string, kept: KeptInvocation, session: LoadedSession, controller: AbortController) {
    const { agent, isResumable = true, logger = defaultLogger } = this.#options;
    const records = turnRecords({
      records: this.#records,
      agent: agent.name,
      caller: kept.caller,
      contextId: kept.sessionId,
      taskId: id,
      messageId: kept.message.messageId,
      attempt: kept.attempt,
      isRepeatable: isResumable,
      clock: this.#clock,
    });
    const turn: Turn = {
      message: kept.message,
      taskId: id,
      contextId: kept.sessionId,
      caller: kept.caller,
      metadata: kept.metadata,
      acceptedOutputModes: [],
      extensions: [],
      isContinuation: kept.isContinuation,
      attempt: kept.attempt,
      history: async () =>
        (await this.sessions.messages(session.key)).filter(({ taskId }) => taskId === id),
      state: this.sessions.contextOf(session),
      session: records.session,
      ...(records.journal !== undefined && { journal: records.journal }),
      signal: controller.signal,
      clock: this.#clock,
      logger: logger.child({ invocationId: id, sessionId: kept.sessionId }),
    };
    return { turn, records };
  }

  async #save(
    id: string,
    kept: KeptInvocation,
    session: LoadedSession,
    end: TurnEnd,
    messages: readonly Message[],
    more: readonly RecordWrite[],
  ): Promise<void> {
    const writes = [
      this.#invocations.write(id, { ...kept, state: end.kind }),
      ...this.sessions.writes(session, end.context ?? {}, messages),
      ...more,
    ];
    if (await this.#records.write(writes, this.#clock.now())) return;
    throw new LegateError(
      'STORE_FAILED',
      `session ${kept.sessionId} was changed by another process; run each session in one process, or behind a door`,
    );
  }

  #enter({ caller, sessionId }: SessionKey): Promise<() => void> {
    return this.#queue.enter(JSON.stringify([caller.tenant, caller.subject, sessionId]));
  }
}

function isWaiting({ state }: KeptInvocation): boolean {
  return state !== 'running' && isPause({ kind: state });
}

function callerOf({ caller, userId = '' }: RunRequest): Caller {
  return caller ?? { tenant: '', subject: userId, method: 'runner' };
}

function messageOf(content: Content, taskId: string, contextId: string): Message {
  if (typeof content === 'object' && 'messageId' in content) {
    return { ...content, taskId, contextId };
  }
  return toMessage(content, { taskId, contextId });
}

/** A run as messages: what was asked, and what was answered. */
function messagesOf(
  asked: Message,
  output: TurnOutput,
  taskId: string,
  end: TurnEnd,
): readonly Message[] {
  const made = output.parts();
  const parts = made.length > 0 ? made : (end.parts ?? []);
  if (parts.length === 0) return [asked];
  const { contextId = '' } = asked;
  return [asked, toMessage(parts, { role: 'ROLE_AGENT', taskId, contextId })];
}

function notResumable(id: string, state: string, hasAnswer: boolean): LegateError {
  const why = hasAnswer ? 'it waits for no answer' : 'it was not interrupted';
  return new LegateError(
    'UNSUPPORTED_OPERATION',
    `invocation ${id} is ${state} and cannot be resumed: ${why}`,
  );
}
