import {
  counter,
  endSpan,
  histogram,
  inLogScope,
  isTraced,
  startSpan,
  upDownCounter,
} from '../telemetry/index.ts';
import type { TaskState } from '../protocol/index.ts';
import type { EngineSettings } from './options.ts';
import type { Run, TurnOutcome } from './turn-run.ts';

/** Counts and times turns, and makes each a span of its caller's trace. */
export class TurnMeter {
  readonly #settings: EngineSettings;
  readonly #turns = counter('legate.turns');
  readonly #seconds = histogram('legate.turn.duration');
  readonly #running = upDownCounter('legate.turns.running');
  readonly #events = counter('legate.events');

  constructor(settings: EngineSettings) {
    this.#settings = settings;
  }

  async measure(run: Run): Promise<TurnOutcome> {
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
    const labels = { agent: agent.name };
    this.#running.add(1, labels);
    try {
      const outcome = await inLogScope({ turnId: run.turnId }, () =>
        run.run(isTraced(span) ? span : undefined),
      );
      const end = endOf(outcome);
      this.#turns.add(1, { agent: agent.name, outcome: end });
      span.setAttribute('legate.outcome', end);
      return outcome;
    } finally {
      this.#running.add(-1, labels);
      this.#events.add(run.version - before, labels);
      this.#seconds.record((scheduler.now() - begun) / 1000);
      endSpan(span);
    }
  }
}

/** `completed`, `input-required`, ..., `message`, `command`, `released` or `lost`. */
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
