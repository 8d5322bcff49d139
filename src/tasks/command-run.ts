import { z } from 'zod';
import type { Caller, CommandHandler, CommandOutcome } from '../agents/index.ts';
import { Json, LegateError } from '../protocol/index.ts';
import { ownerKey, type RecordWrite, type TurnRecord } from '../store/index.ts';
import { inSpan, type Span } from '../telemetry/index.ts';
import type { Hub } from './log-reader.ts';
import type { EngineSettings } from './options.ts';
import { retryWhileUnavailable } from './scheduler.ts';
import { RunControl, type StopCause } from './run-control.ts';
import { supersede } from './append-end.ts';
import { TurnLost } from './task-writer.ts';
import { endWrites, lostOutcome, type Run, type TurnOutcome } from './turn-run.ts';
import { contextState, turnIdOf } from './turn-view.ts';

const caller: z.ZodType<Caller> = z.looseObject({
  tenant: z.string(),
  subject: z.string(),
  method: z.string(),
});
const requestSchema = z.object({
  command: z.string(),
  input: z.unknown(),
  caller,
  contextId: z.string(),
  traceparent: z.string().optional(),
  tracestate: z.string().optional(),
});

/** A command as it is stored with its turn, for the replica that runs it. */
export type CommandRequest = z.infer<typeof requestSchema>;

/** Whether a turn is that of a command; others are turns of messages. */
export function isCommand({ request: { value } }: TurnRecord): boolean {
  return typeof value === 'object' && value !== null && 'command' in value;
}

/** The request of a command; undefined if it is invalid. */
export function commandRequestOf({ request }: TurnRecord): CommandRequest | undefined {
  return requestSchema.safeParse(request.value).data;
}

/** A caller that waits for a command in this process. */
export interface WaitingCaller {
  report(progress: unknown): void;
  settle(answer: CommandAnswer): void;
}

export type CommandAnswer = { readonly result: unknown } | { readonly error: LegateError };

/** The record space of results for callers that wait in another process. */
export const resultSpace = 'command-results';
/** How long such a result is kept, in milliseconds. */
const resultTtlMs = 60_000;

/**
 * One command while it runs in this process. It ends with its result and the conversation's new state
 * in one transaction. If it fails, is stopped, or its process dies, it ends without any effect.
 */
export class CommandRun implements Run {
  readonly taskId: string;
  readonly contextId: string;
  readonly turnId: string;
  readonly attempt: number;
  readonly what: string;
  readonly owner: string;
  readonly caller: Caller;
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
  /** Commands emit no events. */
  readonly version = 0;
  readonly #settings: EngineSettings;
  readonly #hub: Hub;
  readonly #replica: string;
  readonly #turn: TurnRecord;
  readonly #request: CommandRequest;
  readonly #waiting: () => WaitingCaller | undefined;
  readonly #abort = new AbortController();
  readonly #control: RunControl;

  constructor(options: {
    settings: EngineSettings;
    hub: Hub;
    replica: string;
    turn: TurnRecord;
    request: CommandRequest;
    /** The caller that waits in this process; undefined once it has disconnected. */
    waiting: () => WaitingCaller | undefined;
  }) {
    const { settings, turn, request } = options;
    this.#settings = settings;
    this.#hub = options.hub;
    this.#replica = options.replica;
    this.#turn = turn;
    this.#request = request;
    this.#waiting = options.waiting;
    this.#control = new RunControl(settings, {
      runsAgain: false,
      onAbort: (reason) => this.#abort.abort(reason),
    });
    this.taskId = turn.taskId;
    this.turnId = turnIdOf(turn);
    this.attempt = turn.attempt;
    this.what = request.command;
    this.contextId = request.contextId;
    this.caller = request.caller;
    this.traceparent = request.traceparent;
    this.tracestate = request.tracestate;
    const { tenant, subject } = request.caller;
    this.owner = ownerKey({ agent: settings.agent.name, tenant, subject });
  }

  stop(cause: StopCause): void {
    this.#control.stop(cause);
  }

  onStop(callback: () => void): void {
    this.#control.onStop(callback);
  }

  /** Stops when the command was dropped or taken over. */
  async probe(): Promise<void> {
    if (!(await this.#isOurs())) this.stop('lost');
  }

  async run(span?: Span): Promise<TurnOutcome> {
    this.#control.limit();
    let answer: CommandAnswer;
    let outcome: CommandOutcome | undefined;
    try {
      outcome = await this.#handle(span);
      answer = { result: outcome.result };
    } catch (error) {
      answer = { error: this.#failureOf(error) };
    }
    try {
      const next = await this.#end(outcome);
      this.#waiting()?.settle(answer);
      return { kind: 'command', next, isFailed: 'error' in answer };
    } catch (error) {
      this.#waiting()?.settle({ error: dropped(error) });
      return lostOutcome(this.#settings, { turnId: this.turnId }, error);
    } finally {
      this.#control.clear();
    }
  }

  async #handle(span: Span | undefined): Promise<CommandOutcome> {
    const { settings, contextId } = { settings: this.#settings, contextId: this.contextId };
    this.#control.throwIfStopped();
    // The process of its first attempt died, and with it the caller. The effects of that attempt are unknown.
    if (this.attempt > 1) throw dropped();
    const handler = handlerOf(settings, this.#request.command);
    if (handler.command.supersedes === true) await this.#supersede();
    const turn = {
      id: this.taskId,
      contextId,
      caller: this.caller,
      state: contextState(settings, this.owner, contextId),
      signal: this.#abort.signal,
      clock: settings.scheduler,
      logger: settings.logger.child({ contextId, turnId: this.turnId }),
      report: (progress: unknown) => {
        this.#control.restartSilence();
        this.#waiting()?.report(progress);
      },
    };
    const handle = (): Promise<CommandOutcome> => handler.handle(turn, this.#request.input);
    return this.#control.guard(span === undefined ? handle() : inSpan(span, handle));
  }

  async #supersede(): Promise<void> {
    const { written } = await this.#control.guard(
      supersede({
        settings: this.#settings,
        hub: this.#hub,
        replica: this.#replica,
        owner: this.owner,
        contextId: this.contextId,
        taskId: this.taskId,
        isOurs: () => this.#isOurs(),
      }),
    );
    await this.#control.guard(written);
  }

  /** This process owns the turn while it is open: a replica that takes over a command drops it. */
  async #isOurs(): Promise<boolean> {
    return (await this.#settings.store.loadTurn(this.#turn.id)) !== undefined;
  }

  /** Ends the turn, without effect unless there is an outcome. */
  async #end(outcome: CommandOutcome | undefined): Promise<TurnRecord | undefined> {
    if (this.#control.cause === 'lost') throw new TurnLost('the command was dropped');
    const { store, scheduler } = this.#settings;
    const { context, records } = endWrites(this, outcome?.context, this.#resultRecord(outcome));
    let isRetry = false;
    const ended = await retryWhileUnavailable(scheduler, () => {
      const end = { turn: this.#turn, replica: this.#replica, context, records };
      const tried = store.commands.end({ ...end, now: scheduler.now() });
      return tried.catch((error: unknown) => {
        isRetry = true;
        throw error;
      });
    });
    if (ended.kind === 'ended') return ended.next;
    // An attempt whose answer was lost may have been stored.
    if (isRetry && context?.value !== undefined) {
      const stored = await store.loadContext(this.owner, this.contextId);
      if (stored?.value?.text === context.value.text) return undefined;
    }
    throw new TurnLost(`the command was not stored: ${ended.kind}`);
  }

  #resultRecord(outcome: CommandOutcome | undefined): readonly RecordWrite[] {
    if (outcome === undefined || this.#waiting() !== undefined) return [];
    const value = Json.fromText<never>(JSON.stringify({ result: outcome.result }));
    const expiresAt = this.#settings.scheduler.now() + resultTtlMs;
    return [{ space: resultSpace, key: this.taskId, value, expiresAt }];
  }

  #failureOf(error: unknown): LegateError {
    const { logger, taskTimeoutMs, inactivityTimeoutMs } = this.#settings;
    switch (this.#control.cause) {
      case undefined:
        if (error instanceof LegateError) return error;
        logger.error({ turnId: this.turnId, error }, 'tasks.agent.failed');
        return unavailable('The agent failed while working on this message.', error);
      case 'timeout':
        return unavailable(`The agent took longer than ${taskTimeoutMs / 1000} s.`);
      case 'inactivity':
        return unavailable(`The agent was silent for more than ${inactivityTimeoutMs / 1000} s.`);
      case 'shutdown':
        return unavailable('The server was stopped while working on this message.');
      case 'cancel':
      case 'lost':
        return dropped();
    }
  }
}

/** The agent's handler of a command; throws if there is none. */
export function handlerOf({ agent }: EngineSettings, name: string): CommandHandler {
  const handler = agent.commands?.find(({ command }) => command.name === name);
  if (handler !== undefined) return handler;
  throw new LegateError(
    'UNSUPPORTED_OPERATION',
    `agent ${agent.name} has no command ${name}; list it in the agent's commands`,
  );
}

/** The error for the caller of a command that ended without a result. */
export function dropped(cause?: unknown): LegateError {
  return unavailable('The call was cancelled, or its process stopped. Send it again.', cause);
}

function unavailable(message: string, cause?: unknown): LegateError {
  return new LegateError('UNAVAILABLE', message, { retryAfter: 5, cause });
}
