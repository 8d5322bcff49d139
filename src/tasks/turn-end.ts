import type { TurnEnd } from '../agents/index.ts';
import { LegateError } from '../protocol/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { engineEnd } from './agent-events.ts';
import type { EngineSettings } from './options.ts';

/** Why a turn was stopped from outside. */
export type StopCause = 'cancel' | 'timeout' | 'inactivity' | 'shutdown' | 'lost';

/** The `reason` of a turn's abort signal, and what ends an agent that does not heed it. */
export class TurnStopped extends Error {
  override readonly name = 'TurnStopped';
  readonly stopCause: StopCause;
  /** The turn runs again, in another process or in this one later: its remote work must go on. */
  readonly handsOver: boolean;

  constructor(stopCause: StopCause, { handsOver = false }: { readonly handsOver?: boolean } = {}) {
    super(`the turn was stopped: ${stopCause}`);
    this.stopCause = stopCause;
    this.handsOver = handsOver;
  }
}

/** The end of a task whose process stopped or died under it. */
export function interruptedEnd(): TurnEnd {
  return engineEnd('failed', 'interrupted', 'The server was stopped while working on this task.');
}

/** How a turn ends whose agent threw, or did not heed its being stopped. */
export function endAfter(
  error: unknown,
  { isStopped, logger }: { readonly isStopped: boolean; readonly logger: Logger },
): TurnEnd {
  if (error instanceof TurnStopped) return { kind: 'canceled' };
  if (error instanceof LegateError && error.code === 'INVALID_AGENT_RESPONSE') {
    logger.error({ error }, 'tasks.agent.invalid_response');
    return engineEnd('failed', 'invalid_agent_response', error.message);
  }
  if (!isStopped) logger.error({ error }, 'tasks.agent.failed');
  return engineEnd('failed', 'agent_error', 'The agent failed while working on this task.');
}

/** The cause of a stop overrules what the agent said, but keeps its words and its state. */
export function decideEnd(
  said: TurnEnd,
  cause: StopCause | undefined,
  about: {
    readonly settings: Pick<EngineSettings, 'taskTimeoutMs' | 'inactivityTimeoutMs'>;
    /** The agent did not end by itself. */
    readonly broke: boolean;
    readonly logger: Logger;
  },
): TurnEnd {
  const { settings, broke, logger } = about;
  switch (cause) {
    case undefined:
    case 'lost':
      return said;
    case 'cancel':
      return { ...(said.kind === 'failed' ? {} : said), kind: 'canceled' };
    case 'timeout': {
      logger.warn({}, 'tasks.turn.timeout');
      const text = `The task was cancelled: it took longer than ${settings.taskTimeoutMs / 1000} s.`;
      return keep(said, engineEnd('canceled', 'timeout', text));
    }
    case 'inactivity': {
      const text = `The agent was silent for more than ${settings.inactivityTimeoutMs / 1000} s.`;
      return keep(said, engineEnd('failed', 'inactivity', text));
    }
    case 'shutdown':
      return broke ? interruptedEnd() : said;
  }
}

function keep(said: TurnEnd, decided: TurnEnd): TurnEnd {
  return { ...decided, ...(said.context !== undefined && { context: said.context }) };
}
