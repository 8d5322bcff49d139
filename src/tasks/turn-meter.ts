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

/** Counts, times and logs turns, and creates a span for each in the trace of its caller. */
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
    const name = agent.label ?? agent.name;
    const span = startSpan('legate.turn', {
      traceparent: run.traceparent,
      tracestate: run.tracestate,
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': name,
        'gen_ai.conversation.id': run.contextId,
        'legate.agent': name,
        'legate.task_id': run.taskId,
        'legate.turn_id': run.turnId,
        'legate.context_id': run.contextId,
        'legate.attempt': run.attempt,
      },
    });
    const startedAt = scheduler.now();
    const before = run.version;
    const labels = { agent: name };
    this.#running.add(1, labels);
    let end = 'error';
    try {
      const outcome = await inLogScope({ turnId: run.turnId }, () =>
        run.run(isTraced(span) ? span : undefined),
      );
      end = endOf(outcome);
      this.#turns.add(1, { agent: name, outcome: end });
      span.setAttribute('legate.outcome', end);
      this.#log(run, outcome, scheduler.now() - startedAt);
      return outcome;
    } finally {
      this.#running.add(-1, labels);
      this.#events.add(run.version - before, labels);
      this.#seconds.record((scheduler.now() - startedAt) / 1000, { ...labels, outcome: end });
      endSpan(span);
    }
  }

  /** Logs the caller, the request, its outcome and its duration; never the content of messages. */
  #log(run: Run, outcome: TurnOutcome, durationMs: number): void {
    const { logger, agent } = this.#settings;
    const { what, caller, taskId, contextId, turnId } = run;
    const { tenant, subject, method } = caller;
    const isCommand = outcome.kind === 'command';
    const state = isCommand ? (outcome.isFailed ? 'failed' : 'completed') : endOf(outcome);
    logger.info(
      {
        agent: agent.label ?? agent.name,
        caller: subject || method,
        ...(tenant !== '' && { tenant }),
        what,
        state,
        durationMs,
        taskId,
        contextId,
        turnId,
      },
      'turn.ended',
    );
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
