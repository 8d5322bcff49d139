import { type Artifact, type JsonObject, message, type Part } from '../../protocol/index.ts';
import { openMemory } from '../../store/index.ts';
import { silentLogger } from '../../telemetry/index.ts';
import type { Agent, Caller, Turn, TurnEnd, TurnEvent } from '../agent.ts';
import { turnRecords } from '../sessions/turn-records.ts';
import { isEnd, TurnOutput } from '../turn-output.ts';
import { noPeers } from '../turn-peers.ts';

export interface Said {
  readonly events: readonly TurnEvent[];
  readonly end: TurnEnd;
  readonly artifacts: readonly Artifact[];
  readonly text: string;
  readonly taskId: string;
}

export interface SayOptions {
  /** Continues this task. */
  readonly taskId?: string;
  readonly signal?: AbortSignal;
  readonly attempt?: number;
  readonly messageId?: string;
  /** Called with each event. If it throws, the turn ends as in a crash: nothing is saved. */
  readonly onEvent?: (event: TurnEvent) => void | Promise<void>;
}

/** Drives an agent as a transport does, and keeps its saved state. For tests. */
export class Conversation {
  readonly contextId = 'context-1';
  value: JsonObject | undefined;
  readonly log: JsonObject[] = [];
  readonly records = openMemory().records;
  readonly #agent: Agent;
  readonly #caller: Caller;

  constructor(agent: Agent, caller: Partial<Caller> = {}) {
    this.#agent = agent;
    this.#caller = { tenant: '', subject: 'alice', method: 'test', ...caller };
  }

  async say(content: string | Part | readonly Part[], options: SayOptions = {}): Promise<Said> {
    const turn = this.turn(content, options);
    const events: TurnEvent[] = [];
    const output = new TurnOutput();
    let end: TurnEnd = { kind: 'completed' };
    for await (const event of this.#agent.take(turn)) {
      // Stored values must be JSON.
      events.push(JSON.parse(JSON.stringify(event)) as TurnEvent);
      output.add(event);
      await options.onEvent?.(event);
      if (isEnd(event)) {
        end = event.kind === 'message' ? { ...event, kind: 'completed' } : event;
        break;
      }
    }
    await this.save(turn, end);
    const artifacts = output.artifacts();
    const text = artifacts
      .map(({ parts }) => parts.map((part) => part.text ?? '').join(''))
      .join('|');
    return { events, end, artifacts, text, taskId: turn.taskId };
  }

  async abandon(taskId: string): Promise<void> {
    const turn = this.turn('', { taskId });
    await this.save(turn, (await this.#agent.abandon?.(turn)) ?? {});
  }

  turn(content: string | Part | readonly Part[], options: SayOptions = {}): Turn & Kept {
    const { contextId } = this;
    const taskId = options.taskId ?? crypto.randomUUID();
    const messageId = options.messageId ?? crypto.randomUUID();
    const attempt = options.attempt ?? 1;
    const kept = turnRecords({
      records: this.records,
      agent: this.#agent.name,
      caller: this.#caller,
      contextId,
      taskId,
      messageId,
      attempt,
      isRepeatable: this.#agent.onInterrupted === 'run-again',
      clock: Date,
    });
    return {
      message: message(content, { messageId, contextId, taskId }),
      taskId,
      contextId,
      caller: this.#caller,
      metadata: {},
      acceptedOutputModes: [],
      extensions: [],
      isContinuation: options.taskId !== undefined,
      attempt,
      history: async () => [],
      state: {
        load: async () => structuredClone(this.value),
        log: async ({ last } = {}) =>
          structuredClone(last === undefined ? this.log : this.log.slice(-last)),
      },
      session: kept.session,
      peers: noPeers,
      ...(kept.journal !== undefined && { journal: kept.journal }),
      signal: options.signal ?? new AbortController().signal,
      clock: Date,
      logger: silentLogger,
      kept,
    };
  }

  async save(turn: Kept, end: Omit<TurnEnd, 'kind'>): Promise<void> {
    const { value, log = [] } = JSON.parse(JSON.stringify(end.context ?? {})) as {
      value?: JsonObject;
      log?: JsonObject[];
    };
    if (value !== undefined) this.value = value;
    this.log.push(...log);
    await this.records.write(await turn.kept.writes(), Date.now());
  }
}

interface Kept {
  readonly kept: ReturnType<typeof turnRecords>;
}
