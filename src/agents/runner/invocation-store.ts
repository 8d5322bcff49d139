import {
  Json,
  type JsonObject,
  type JsonValue,
  LegateError,
  type Message,
} from '../../protocol/index.ts';
import type { RecordStore, RecordWrite } from '../../store/index.ts';
import type { Caller, Clock, EndKind } from '../agent.ts';

/** The record of an invocation. */
export interface KeptInvocation {
  readonly sessionId: string;
  readonly caller: Caller;
  readonly state: 'running' | EndKind;
  readonly attempt: number;
  /** The message of the turn that runs or ran last. */
  readonly message: Message;
  readonly isContinuation: boolean;
  readonly metadata: JsonObject;
}

const space = 'runner-invocations';

/** Invocations of one agent, by their ids. */
export class InvocationStore {
  readonly #prefix: string;
  readonly #records: RecordStore;
  readonly #clock: Clock;
  readonly #keepMs: number;

  constructor(agent: string, records: RecordStore, clock: Clock, keepMs: number) {
    this.#prefix = JSON.stringify([agent]);
    this.#records = records;
    this.#clock = clock;
    this.#keepMs = keepMs;
  }

  async find(id: string): Promise<KeptInvocation | undefined> {
    const found = await this.#records.get(space, this.#prefix + id, this.#clock.now());
    return found?.value.value as unknown as KeptInvocation | undefined;
  }

  async load(id: string): Promise<KeptInvocation> {
    const found = await this.find(id);
    if (found !== undefined) return found;
    throw new LegateError('TASK_NOT_FOUND', `no invocation ${id}`, {
      metadata: { invocationId: id },
    });
  }

  write(id: string, kept: KeptInvocation): RecordWrite {
    return {
      space,
      key: this.#prefix + id,
      value: Json.of(kept as unknown as JsonValue),
      expiresAt: this.#clock.now() + this.#keepMs,
    };
  }
}
