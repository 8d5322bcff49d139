import {
  type Counter,
  endSpan,
  type Histogram,
  inLogScope,
  isTraced,
  metricTable,
  startSpan,
} from '../telemetry/index.ts';
import type { TaskState } from '../protocol/index.ts';
import type { EngineSettings } from './options.ts';
import type { TurnOutcome, TurnRun } from './turn-run.ts';

/** Counts and times turns, and makes each a span of its caller's trace. */
export class TurnMeter {
  readonly #settings: EngineSettings;
  readonly #turns: Counter;
  readonly #seconds: Histogram;
  readonly #byOutcome = new Map<string, (value: number) => void>();
  readonly #running: (value: number) => void;
  readonly #events: (value: number) => void;

  constructor(settings: EngineSettings) {
    const { metrics, agent } = settings;
    const labels = { agent: agent.name };
    this.#settings = settings;
    const help = (name: keyof typeof metricTable): string => metricTable[name].help;
    this.#turns = metrics.counter('legate.turns', help('legate.turns'));
    this.#seconds = metrics.histogram('legate.turn.duration', help('legate.turn.duration'));
    this.#running = metrics
      .gauge('legate.turns.running', help('legate.turns.running'))
      .bind(labels);
    this.#events = metrics.counter('legate.events', help('legate.events')).bind(labels);
  }

  async measure(run: TurnRun): Promise<TurnOutcome> {
    const { scheduler, agent } = this.#settings;
    const span = startSpan('legate.turn', {
      traceparent: run.traceparent,
      tracestate: run.tracestate,
      attributes: {
        'legate.agent': agent.name,
        'legate.task_id': run.taskId,
        'legate.turn_id': run.turnId,
        'legate.context_id': run.contextId,
        'legate.attempt': run.attempt,
      },
    });
    const begun = scheduler.now();
    const before = run.version;
    this.#running(1);
    try {
      const outcome = await inLogScope({ turnId: run.turnId }, () =>
        run.run(isTraced(span) ? span : undefined),
      );
      const end = endOf(outcome);
      this.#count(end);
      span.setAttribute('legate.outcome', end);
      return outcome;
    } finally {
      this.#running(-1);
      this.#events(run.version - before);
      this.#seconds.record((scheduler.now() - begun) / 1000);
      endSpan(span);
    }
  }

  #count(outcome: string): void {
    let counter = this.#byOutcome.get(outcome);
    if (counter === undefined) {
      counter = this.#turns.bind({ agent: this.#settings.agent.name, outcome });
      this.#byOutcome.set(outcome, counter);
    }
    counter(1);
  }
}

/** `completed`, `input-required`, ..., `message`, `released` or `lost`. */
function endOf(outcome: TurnOutcome): string {
  if (outcome.kind !== 'task') return outcome.kind;
  const { state } = outcome.task.value.status;
  let name = stateNames.get(state);
  if (name === undefined) {
    name = state.slice('TASK_STATE_'.length).toLowerCase().replace('_', '-');
    stateNames.set(state, name);
  }
  return name;
}

const stateNames = new Map<TaskState, string>();
