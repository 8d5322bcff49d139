import { LegateError } from '../../protocol/index.ts';
import { RecordSpace, type RecordStore, type RecordWrite } from '../../store/index.ts';
import { type Logger, traceparentOf } from '../../telemetry/index.ts';
import type { Clock } from '../agent.ts';
import { type Step, step as stepSchema } from './step.ts';

/**
 * The properties of a step when it starts.
 * @example const search: NewStep = { kind: 'tool', name: 'search', tool: { callId: 'c1', input: { query: 'trains' } } };
 */
export type NewStep = Omit<Step, 'id' | 'parent' | 'state' | 'startedAt' | 'endedAt' | 'spanId'>;

/**
 * Changes to a step after its start.
 * @example const failed: StepChange = { state: 'failed', detail: 'no such city' };
 */
export type StepChange = Partial<Omit<Step, 'id' | 'parent' | 'kind' | 'startedAt'>>;

/**
 * Records the steps of an agent. They are stored for the inspector, and sent to callers that request
 * them. Recording never fails and never waits.
 * @example
 * async function lookUp(city: string, steps: Steps | undefined) {
 *   const step = steps?.start({ kind: 'tool', name: 'look_up', tool: { callId: city, input: { city } } });
 *   const found = await stations.read(city);
 *   step?.end({ tool: { callId: city, input: { city }, output: { type: 'value', value: found } } });
 *   return found;
 * }
 */
export interface Steps {
  start(step: NewStep): OpenStep;
}

/**
 * A step that has started.
 * @example const isReplayed = (step: OpenStep) => step.change({ isReplayed: true });
 */
export interface OpenStep {
  /** Records the steps within this one. */
  readonly steps: Steps;
  change(change: StepChange): void;
  /** The state is `done` unless the change has another one. Only the first end counts. */
  end(change?: StepChange): void;
}

export interface StepLogOptions {
  readonly records: RecordStore;
  readonly taskId: string;
  readonly messageId: string;
  readonly attempt: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long steps are kept, in milliseconds. */
  readonly keepMs: number;
  /** Runs a callback after the current work. */
  readonly defer: (callback: () => void) => void;
  /** Called when a step has started or ended. */
  readonly onStep?: ((step: Step) => void) | undefined;
}

export function stepRecords(records: RecordStore, clock: Clock = records.clock): RecordSpace<Step> {
  return new RecordSpace({ records, space: 'agent-steps', schema: stepSchema, clock });
}

/** Maximum steps of one attempt of a turn; later ones are not recorded. */
const maxSteps = 2_000;

/**
 * The steps of one attempt of a turn, with one record for each. Changes are written in the background,
 * in batches. The last changes are written with the end of the turn.
 */
export class StepLog implements Steps {
  readonly #options: StepLogOptions;
  readonly #records: RecordSpace<Step>;
  readonly #open = new Map<number, Step>();
  #changed = new Map<number, Step>();
  #count = 0;
  #isDue = false;
  #writing: Promise<void> | undefined;
  #isOver = false;

  constructor(options: StepLogOptions) {
    this.#options = options;
    this.#records = stepRecords(options.records, options.clock);
  }

  start(started: NewStep): OpenStep {
    return this.#start(started, undefined);
  }

  /** The remaining writes, for the end of the turn. Later steps are not recorded. */
  async writes(): Promise<readonly RecordWrite[]> {
    for (const id of this.#open.keys()) this.#end(id, { state: 'interrupted' });
    this.#isOver = true;
    // A write in flight must finish before the writes of the end.
    await this.#writing;
    return this.#take();
  }

  #start(started: NewStep, parent: number | undefined): OpenStep {
    this.#count += 1;
    const id = this.#count;
    if (this.#isOver || id > maxSteps) return unnoted;
    const [, traceId, spanId] = traceparentOf()?.split('-') ?? [];
    const step: Step = {
      ...started,
      id,
      ...(parent !== undefined && { parent }),
      state: 'running',
      startedAt: this.#options.clock.now(),
      ...(traceId !== undefined && { traceId }),
      ...(spanId !== undefined && { spanId }),
    };
    this.#open.set(id, step);
    this.#note(step);
    this.#options.onStep?.(step);
    return {
      steps: { start: (next) => this.#start(next, id) },
      change: (change) => this.#change(id, change),
      end: (change) => this.#end(id, change),
    };
  }

  #change(id: number, change: StepChange): Step | undefined {
    const before = this.#open.get(id);
    if (before === undefined) return undefined;
    const step = { ...before, ...change };
    this.#open.set(id, step);
    this.#note(step);
    return step;
  }

  #end(id: number, change: StepChange = {}): void {
    const endedAt = this.#options.clock.now();
    const step = this.#change(id, { state: 'done', endedAt, ...change });
    this.#open.delete(id);
    if (step !== undefined) this.#options.onStep?.(step);
  }

  #note(step: Step): void {
    this.#changed.set(step.id, step);
    if (this.#isDue || this.#isOver) return;
    this.#isDue = true;
    this.#options.defer(() => {
      this.#isDue = false;
      if (this.#writing === undefined && !this.#isOver) this.#writing = this.#write();
    });
  }

  async #write(): Promise<void> {
    try {
      while (this.#changed.size > 0 && !this.#isOver) await this.#records.write(...this.#take());
    } catch (error) {
      // Steps are only for observers: a turn does not fail because of them.
      const code = error instanceof LegateError ? error.code : undefined;
      this.#options.logger.debug({ error, code }, 'agents.steps.write_failed');
    } finally {
      this.#writing = undefined;
    }
  }

  #take(): readonly RecordWrite[] {
    const { taskId, messageId, attempt, clock, keepMs } = this.#options;
    const changed = this.#changed;
    this.#changed = new Map();
    const expiresAt = clock.now() + keepMs;
    return Array.from(changed.values(), (step) => {
      const key = JSON.stringify([taskId, messageId, pad(attempt, 3), pad(step.id, 5)]);
      return this.#records.toWrite(key, step, { expiresAt });
    });
  }
}

/** For steps beyond the limit or after the end of the turn. */
const unnoted: OpenStep = {
  steps: { start: () => unnoted },
  change: () => undefined,
  end: () => undefined,
};

/** Pads a number, since keys are sorted as text. */
function pad(number: number, digits: number): string {
  return String(number).padStart(digits, '0');
}
