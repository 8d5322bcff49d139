import { type Caller, handsOver } from '../../agents/index.ts';
import {
  isInterrupted,
  isTerminal,
  LegateError,
  type Part,
  type SendMessageResponse,
  toLegateError,
  toParts,
} from '../../protocol/index.ts';
import { isStoreFailure, Replica, type Store } from '../../store/index.ts';
import { retryWhileUnavailable, type Scheduler, systemScheduler } from '../../tasks/index.ts';
import { type Logger, silentLogger } from '../../telemetry/index.ts';
import { Deadline, KeyedQueue } from '../../time/index.ts';
import type { Directory } from '../directory/directory.ts';
import { foldName } from '../directory/fold-name.ts';
import type { Peer } from '../directory/peer.ts';
import { type TransportKind, transportKindsOf } from '../directory/transport-kind.ts';
import type { WorkingMemory } from '../memory/working-memory.ts';
import type { TrustLedger } from '../trust/trust-ledger.ts';
import { contentOf, textOfParts } from './answers.ts';
import { Calls, type WaitOptions } from './calls.ts';
import type { Conversations } from './conversations.ts';
import {
  type Invocation,
  type InvocationOrigin,
  type InvocationSession,
  isDone,
  type PeerEvent,
  type PeerTransport,
} from './invocation.ts';
import { InvocationStore } from './invocation-store.ts';
import {
  checkRequest,
  firstMessage,
  invalid,
  type InvokeRequest,
  isListed,
  skillIdOf,
} from './invoke-request.ts';
import { InvokeTelemetry } from './invoke-telemetry.ts';
import { type LoopLimits, Questions } from './questions.ts';

/** The options of an invoker: directory, transports and limits. */
export interface InvokerOptions extends LoopLimits {
  /** Our own agent name. */
  readonly name: string;
  readonly directory: Directory;
  readonly transports: readonly PeerTransport[];
  /** Stores calls and the leases of replicas. */
  readonly store: Store;
  /** The working memory for the results of a caller's conversations. */
  readonly memory: (caller: Caller) => WorkingMemory;
  /** Decides which peers a model may answer. @default none */
  readonly trust?: TrustLedger;
  readonly conversations?: Conversations;
  /** How long a peer may take, in milliseconds. @default 5 minutes */
  readonly timeoutMs?: number;
  /** How long the user may take to answer a peer's question, in milliseconds. @default 24 hours */
  readonly askTimeoutMs?: number;
  /** How long results are kept in working memory, in milliseconds. @default 1 hour */
  readonly resultTtlMs?: number;
  /** The lease of this process: other replicas take over its calls when it expires. @default a new one */
  readonly replica?: Replica;
  /** The maximum number of tasks in flight per conversation. @default 16 */
  readonly maxInFlight?: number;
  readonly scheduler?: Scheduler;
  readonly logger?: Logger;
}

const minute = 60_000;
/** Above any sensible `maxInFlight`. */
const MAX_LISTED = 1_000;

/**
 * Sends tasks to other agents and returns their results to the conversation: over any
 * transport, concurrently, across questions, restarts and late answers. The state of each call is in
 * the store (see `Invocation`), so any process can continue it.
 * @example
 * await invoker.start();
 * const { outcome } = await invoker.invokeAndWait({ agent: 'bob', skill: 'echo', message: 'hi' }, session);
 */
export class Invoker {
  readonly telemetry = new InvokeTelemetry();
  readonly #options: InvokerOptions;
  readonly #scheduler: Scheduler;
  readonly #logger: Logger;
  readonly #store: InvocationStore;
  readonly #replica: Replica;
  readonly #calls: Calls;
  /** Serializes the events of each invocation. */
  readonly #queue = new KeyedQueue();
  readonly #questions: Questions;
  /** Invocations that this replica has claimed and could not continue. */
  readonly #notContinued = new Set<string>();
  readonly #closing = new AbortController();
  #leave: (() => Promise<void>) | undefined;

  constructor(options: InvokerOptions) {
    const { transports, memory, trust, conversations = {} } = options;
    const { scheduler = systemScheduler, logger = silentLogger } = options;
    const { telemetry } = this;
    const closing = this.#closing.signal;
    this.#options = options;
    this.#scheduler = scheduler;
    this.#logger = logger;
    this.#store = new InvocationStore(options.store.records, options.name, scheduler);
    this.#replica =
      options.replica ??
      new Replica({ store: options.store, id: scheduler.uuid(), scheduler, logger });
    const shared = { replica: this.#replica, conversations, telemetry, scheduler, logger, closing };
    this.#calls = new Calls({
      ...shared,
      store: this.#store,
      transports,
      memory,
      resultTtlMs: options.resultTtlMs ?? 60 * minute,
    });
    this.#questions = new Questions({
      ...shared,
      calls: this.#calls,
      trust,
      queue: this.#queue,
      askTimeoutMs: options.askTimeoutMs ?? 24 * 60 * minute,
      maxInputRequiredRounds: options.maxInputRequiredRounds ?? 20,
      repetitionThreshold: options.repetitionThreshold ?? 3,
    });
  }

  /** Starts the transports, and takes over the calls of dead processes. */
  async start(): Promise<void> {
    for (const transport of this.#options.transports) {
      await transport.start((id, event) => this.#accept(id, event));
    }
    this.#leave = await this.#replica.join({ takeOver: () => this.#takeOver() });
  }

  /** Stops the transports. The next process continues open calls. */
  async stop(): Promise<void> {
    this.#closing.abort(shuttingDown());
    this.#calls.stop();
    const expectsAnswers = await this.#expectsAnswers();
    for (const transport of this.#options.transports) await transport.stop({ expectsAnswers });
    await this.#queue.idle();
    await this.#leave?.();
    this.telemetry.close();
  }

  find(id: string): Promise<Invocation | undefined> {
    return this.#store.find(id);
  }

  /** Open invocations, of one conversation or all. */
  async list(session?: InvocationSession): Promise<readonly Invocation[]> {
    if (session !== undefined) return this.#store.open(session, MAX_LISTED);
    return (await this.#store.all()).filter(({ state }) => state !== 'ended');
  }

  /**
   * Sends a task to a peer; resolves once it is sent. In mode `wait` the method `wait` returns the
   * outcome; otherwise the conversation is notified. Error texts are written for models.
   */
  async invoke(
    request: InvokeRequest,
    session: InvocationSession,
    options: {
      readonly mode?: Invocation['mode'];
      readonly id?: string;
      /** The turn that waits for it. */
      readonly origin?: InvocationOrigin;
    } = {},
  ): Promise<Invocation> {
    const { name, directory, timeoutMs: usual = 5 * minute } = this.#options;
    const scheduler = this.#scheduler;
    checkRequest(request, name);
    const peer = await directory.require(request.agent.trim());
    const transportKind = this.#transportKindOf(peer);
    const skill = skillIdOf(peer, request.skill?.trim());
    await this.#checkInFlight(session);
    const now = scheduler.now();
    const timeoutMs = request.timeoutMs ?? usual;
    const message = firstMessage(request, skill, scheduler.uuid());
    const invocation: Invocation = {
      id: options.id ?? scheduler.uuid(),
      agent: peer.name,
      skill,
      ...(!isListed(peer, skill) && { isSkillUnlisted: true }),
      transportKind,
      session,
      mode: options.mode ?? 'notify',
      ...(options.origin !== undefined && { origin: options.origin }),
      state: 'sending',
      process: this.#replica.id,
      message,
      request: textOfParts(message.parts),
      rounds: 0,
      timeoutMs,
      startedAt: now,
      deadline: now + timeoutMs,
    };
    if (!(await this.#store.create(invocation)))
      throw invalid(`A task ${invocation.id} exists already.`);
    this.telemetry.started(invocation);
    try {
      return await this.#calls.send(invocation);
    } catch (thrown) {
      // The message may have been sent: the next process continues.
      this.#closing.signal.throwIfAborted();
      // The caller gets the error, so the conversation is not notified.
      const error = toLegateError(thrown);
      const outcome = { end: 'error', text: error.message, data: [] } as const;
      const ended = await this.#calls.close(invocation.id, outcome, { isQuiet: true });
      // It timed out or was cancelled before it was sent.
      const known = ended === undefined ? await this.find(invocation.id) : undefined;
      if (known !== undefined) return known;
      throw error;
    }
  }

  /**
   * Waits until an invocation has ended or asks the user. An abort cancels it, here and at the peer,
   * except where the turn that waits runs again in another process.
   */
  async wait(id: string, options: WaitOptions = {}): Promise<Invocation> {
    const { signal } = options;
    const closing = this.#closing.signal;
    using either = new Deadline({ signal: signal === undefined ? closing : [signal, closing] });
    try {
      const settled = await this.#calls.wait(id, options, either.signal);
      if (settled === undefined) throw unknown(id);
      return settled.state === 'ended' ? await this.#received(settled) : settled;
    } catch (error) {
      if (signal?.aborted === true && !handsOver(signal.reason)) await this.cancel(id);
      throw error;
    }
  }

  /** Sends a task to a peer and waits until it has ended or asks. */
  async invokeAndWait(
    request: InvokeRequest,
    session: InvocationSession,
    options: WaitOptions = {},
  ): Promise<Invocation> {
    const { id } = await this.invoke(request, session, { mode: 'wait' });
    return this.wait(id, options);
  }

  /** Answers the question of a peer, in the same task and context. */
  answer(
    id: string,
    content: string | readonly Part[],
    /** `messageId` of the answer. @default a new one */
    options: { readonly messageId?: string } = {},
  ): Promise<Invocation> {
    return this.#queue.run(id, async () => {
      const asking = await this.find(id);
      if (asking === undefined) throw unknown(id);
      return this.#questions.answer(asking, toParts(content), options);
    });
  }

  /** Cancels an invocation, here and at the peer. One that has ended stays unchanged. */
  async cancel(id: string): Promise<void> {
    const text = 'The task was cancelled.';
    const outcome = { end: 'TASK_STATE_CANCELED', text, data: [] } as const;
    await this.#calls.abandon(id, outcome, true);
  }

  /**
   * Sends a task for a caller that waits for its outcome. Also resolves if the task could not be sent: it
   * then has the outcome `error`. A turn that runs again finds the task of its former run, which continues
   * in this process.
   */
  async invokeOnce(
    request: InvokeRequest,
    session: InvocationSession,
    call: { readonly id: string; readonly origin?: InvocationOrigin },
  ): Promise<void> {
    if ((await this.find(call.id)) !== undefined) return this.rejoin(call.id);
    try {
      await this.invoke(request, session, { mode: 'wait', ...call });
    } catch (error) {
      if ((await this.find(call.id))?.state !== 'ended') throw error;
    }
  }

  /** Continues an invocation of another process in this one, for the turn that waits for it. */
  async rejoin(id: string): Promise<void> {
    const known = await this.find(id);
    if (known === undefined || known.state === 'ended' || known.process === this.#replica.id)
      return;
    await this.#continue(id, known.process);
  }

  /** Stores the data that the turn of a call needs when it runs again. */
  async keepOrigin(id: string, origin: InvocationOrigin): Promise<void> {
    await this.#calls.change(id, (current) => ({ ...current, origin }));
  }

  /** Whether a later process, or another one on the same store, may get an answer. */
  async #expectsAnswers(): Promise<boolean> {
    if (this.#options.store.shared || this.#calls.hasTimedOut) return true;
    return this.#store.unfinished(1).then(
      (unfinished) => unfinished.length > 0,
      () => true,
    );
  }

  async #checkInFlight(session: InvocationSession): Promise<void> {
    const { maxInFlight = 16 } = this.#options;
    const count = await this.#store.countOpen(session, maxInFlight);
    if (count < maxInFlight) return;
    throw invalid(
      `${count} agent tasks of this conversation are in flight, which is the limit. Wait for their results before invoking another agent.`,
    );
  }

  #transportKindOf(peer: Peer): TransportKind {
    const available = this.#options.transports.map(({ transportKind }) => transportKind);
    const offered = transportKindsOf(peer.card);
    const transportKind = offered.find((each) => available.includes(each));
    if (transportKind !== undefined) return transportKind;
    throw new LegateError(
      'PEER_UNREACHABLE',
      `Agent '${peer.name}' cannot be reached from here: its card offers ${offered.join(', ') || 'nothing we speak'}, and this program has ${available.join(', ') || 'no way to call'}.`,
    );
  }

  /** The waiter has the outcome, so the conversation is not notified. */
  async #received(ended: Invocation): Promise<Invocation> {
    if (ended.isNotified === true || ended.mode !== 'wait') return ended;
    const changed = await this.#calls.change(ended.id, (current) =>
      current.isNotified === true ? undefined : { ...current, isNotified: true },
    );
    return changed?.invocation ?? ended;
  }

  /**
   * Handles an event of a transport; the events of one invocation are handled in order. While the store
   * is unavailable the event waits: transports that follow a task get each event once. After a longer
   * outage, the takeover continues the call from the peer's task.
   */
  #accept(id: string, event: PeerEvent): Promise<boolean> {
    const retried = <T>(work: () => Promise<T>): Promise<T> =>
      retryWhileUnavailable(this.#scheduler, work, { signal: this.#closing.signal });
    return this.#queue.run(id, async () => {
      try {
        const invocation = await retried(() => this.find(id));
        if (invocation === undefined || !this.#isFrom(event, invocation)) return false;
        // Not retried: the conversation may have got it already.
        if (event.kind === 'progress') await this.#calls.progress(invocation, event);
        else await retried(() => this.#apply(invocation, event));
        return true;
      } catch (error) {
        if (isStoreFailure(error) && event.kind !== 'progress') this.#notContinued.add(id);
        throw error;
      }
    });
  }

  async #apply(
    invocation: Invocation,
    event: Exclude<PeerEvent, { readonly kind: 'progress' }>,
  ): Promise<void> {
    if (event.kind === 'known') await this.#known(invocation.id, event);
    else if (event.kind === 'answer') await this.#answered(invocation.id, event.response);
    else await this.#calls.fail(invocation, event.error);
  }

  /** If the transport authenticates senders, only the peer itself may answer. */
  #isFrom({ sender }: PeerEvent, invocation: Invocation): boolean {
    if (sender !== undefined) return foldName(sender) === foldName(invocation.agent);
    return this.#calls.transportOf(invocation).proves?.(invocation) !== true;
  }

  async #known(id: string, remote: { taskId?: string; contextId: string }): Promise<Invocation> {
    const { taskId, contextId } = remote;
    const changed = await this.#calls.change(id, (current) =>
      current.remote?.taskId === taskId && current.remote?.contextId === contextId
        ? undefined
        : { ...current, remote: { contextId, ...(taskId !== undefined && { taskId }) } },
    );
    if (changed === undefined) throw unknown(id);
    return changed.invocation;
  }

  async #answered(id: string, response: SendMessageResponse): Promise<void> {
    const content = contentOf(response);
    const { taskId, contextId, state } = content;
    const invocation =
      contextId === undefined
        ? await this.find(id)
        : await this.#known(id, { contextId, ...(taskId !== undefined && { taskId }) });
    if (invocation === undefined) return;
    if (isInterrupted(state)) await this.#questions.take(invocation, content);
    else if (isTerminal(state)) await this.#calls.finish(invocation, content);
  }

  /** Takes over the invocations of dead replicas; the next takeover retries failures. */
  async #takeOver(): Promise<void> {
    const unfinished = await this.#store.unfinished();
    const holders = new Set(unfinished.flatMap(({ process }) => process ?? []));
    const dead = await this.#replica.dead([...holders]);
    for (const { id, process } of unfinished) {
      const isOrphaned = process === undefined || dead.has(process) || this.#notContinued.has(id);
      if (!isOrphaned || this.#closing.signal.aborted) continue;
      this.#notContinued.delete(id);
      await this.#continue(id, process).catch((error: unknown) => {
        this.#notContinued.add(id);
        this.#logger.error({ invocation: id, error }, 'peers.takeover.failed');
      });
    }
  }

  /**
   * Claims an invocation and continues it; one of several replicas succeeds. The waiter died with its
   * process, so the mode changes to `notify`. Two kinds keep their mode: an invocation with an open
   * question, which is answered where it was asked, and a call of a turn, since the turn runs again and
   * finds the call, or has failed.
   */
  async #continue(id: string, process: string | undefined): Promise<void> {
    const claimed = await this.#calls.change(id, (current) => {
      if (current.process !== process || isDone(current)) return undefined;
      // The waiter for a call of this process is alive.
      const isOurs = process === this.#replica.id;
      const isKept = isOurs || current.state === 'asking' || current.origin !== undefined;
      return { ...current, process: this.#replica.id, mode: isKept ? current.mode : 'notify' };
    });
    if (claimed?.isChanged !== true) return;
    const { invocation } = claimed;
    const { origin, state } = invocation;
    if (origin?.isRepeatable === false && (state === 'sending' || state === 'working')) {
      return this.cancel(id);
    }
    if (invocation.state === 'ended') {
      if (invocation.isNotified !== true) await this.#calls.notify(invocation);
      if (invocation.mustCancel === true) await this.#calls.cancelRemote(invocation);
      return;
    }
    const transport = this.#calls.transportOf(invocation);
    if (invocation.state === 'asking') await this.#questions.ask(invocation);
    else if (invocation.state === 'sending' && transport.deduplicates) {
      await this.#calls.send(invocation);
    } else await transport.resume(invocation);
  }
}

function shuttingDown(): LegateError {
  return new LegateError(
    'UNAVAILABLE',
    'This process is shutting down. Its open calls to other agents continue when it starts again.',
  );
}

function unknown(id: string): LegateError {
  return new LegateError('TASK_NOT_FOUND', `agent task ${id} is unknown or has expired`);
}
