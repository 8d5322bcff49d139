import { z } from 'zod';
import type { Caller } from '../agents/index.ts';
import { Json } from '../protocol/index.ts';
import { type CommandStore, ownerKey, type TurnRecord } from '../store/index.ts';
import { until } from '../time/index.ts';
import {
  type CommandAnswer,
  type CommandRequest,
  CommandRun,
  dropped,
  handlerOf,
  resultSpace,
  type WaitingCaller,
} from './command-run.ts';
import { stopping } from './admissions.ts';
import type { Hub } from './log-reader.ts';
import type { EngineSettings } from './options.ts';
import { waitForTurn } from './turn-wait.ts';
import type { Turns } from './turns.ts';

/**
 * A conversation of one caller.
 * @example const key: ContextKey = { caller: anonymous, contextId: 'ada' };
 */
export interface ContextKey {
  readonly caller: Caller;
  readonly contextId: string;
}

/**
 * How a command is called.
 * @example const options: CommandOptions<string> = { onProgress: (piece) => response.write(piece) };
 */
export interface CommandOptions<Progress> {
  /** Called with progress of the agent, if the command runs in this process. */
  readonly onProgress?: (progress: Progress) => void;
  /** Aborts when the caller disconnects. This ends the wait, never the command. */
  readonly signal?: AbortSignal | undefined;
  /** W3C trace context of the request. */
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
}

interface Call extends WaitingCaller {
  readonly answered: Promise<CommandAnswer>;
  /** Set once the call is settled. */
  answer: CommandAnswer | undefined;
  /** Whether the command runs in this process, which then settles the call. */
  isRunning: boolean;
}

const storedResult = z.object({ result: z.unknown() });

/** Commands whose callers wait in this process, and commands of other processes that run here. */
export class Commands {
  readonly #settings: EngineSettings;
  readonly #hub: Hub;
  readonly #turns: Turns;
  readonly #replica: string;
  readonly #calls = new Map<string, Call>();

  constructor(options: { settings: EngineSettings; hub: Hub; turns: Turns; replica: string }) {
    this.#settings = options.settings;
    this.#hub = options.hub;
    this.#turns = options.turns;
    this.#replica = options.replica;
  }

  /** Queues a command and waits for its result. */
  async call(
    request: CommandRequest,
    tell: (progress: unknown) => void,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    const { scheduler } = this.#settings;
    if (this.#turns.isClosed) throw stopping();
    handlerOf(this.#settings, request.command);
    const id = scheduler.uuid();
    const call = this.#waiting(id, tell);
    try {
      const { turn, running } = await this.#queue(id, request);
      const answer = running
        ? await until(call.answered, signal)
        : await waitForTurn({ settings: this.#settings, hub: this.#hub, taskId: id, signal }, () =>
            this.#answerOf(turn, call),
          );
      if ('error' in answer) throw answer.error;
      return answer.result;
    } finally {
      this.#calls.delete(id);
    }
  }

  async #queue(id: string, request: CommandRequest): ReturnType<CommandStore['queue']> {
    const { store, agent } = this.#settings;
    const key = this.#keyOf(request);
    using _ = this.#turns.inFlight.claiming(key);
    const queued = await store.commands.queue({
      agent: agent.name,
      key,
      id,
      replica: this.#replica,
      request: Json.fromText(JSON.stringify(request)),
    });
    if (queued.running) void this.#turns.run(this.run(queued.turn, request), queued.turn);
    return queued;
  }

  /** Ends all commands of a conversation without effect, and returns their ids. */
  async cancel(key: ContextKey): Promise<readonly string[]> {
    const name = this.#keyOf(key);
    using _ = this.#turns.inFlight.claiming(name);
    const { ids, next } = await this.#settings.store.commands.drop(name, this.#replica);
    for (const id of ids) {
      this.#turns.stop(id, 'lost');
      this.#hub.wake(id);
    }
    if (next !== undefined) this.#turns.follow(next);
    return ids;
  }

  /** Creates the run of a command whose turn this replica has claimed. */
  run(turn: TurnRecord, request: CommandRequest): CommandRun {
    const call = this.#calls.get(turn.taskId);
    if (call !== undefined) call.isRunning = true;
    return new CommandRun({
      settings: this.#settings,
      hub: this.#hub,
      replica: this.#replica,
      turn,
      request,
      waiting: () => this.#calls.get(turn.taskId),
    });
  }

  #waiting(id: string, report: (progress: unknown) => void): Call {
    const { promise, resolve } = Promise.withResolvers<CommandAnswer>();
    const call: Call = {
      answered: promise,
      answer: undefined,
      isRunning: false,
      report,
      settle: (answer) => {
        call.answer = answer;
        resolve(answer);
        this.#hub.wake(id);
      },
    };
    this.#calls.set(id, call);
    return call;
  }

  /** The answer of a command that was queued, and may run on another replica. */
  async #answerOf(turn: TurnRecord, call: Call): Promise<CommandAnswer | undefined> {
    const { store, scheduler } = this.#settings;
    if (call.answer !== undefined || call.isRunning) return call.answer;
    if ((await store.loadTurn(turn.id)) !== undefined || call.isRunning) return call.answer;
    const record = await store.records.get(resultSpace, turn.taskId, scheduler.now());
    return record === undefined ? { error: dropped() } : storedResult.parse(record.value.value);
  }

  #keyOf({ caller: { tenant, subject }, contextId }: ContextKey): string {
    const { agent } = this.#settings;
    return `${ownerKey({ agent: agent.name, tenant, subject })}\n${contextId}`;
  }
}
