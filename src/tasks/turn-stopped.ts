/** Why a turn was stopped from outside. */
export type StopCause = 'cancel' | 'timeout' | 'inactivity' | 'shutdown' | 'lost';

/** The `reason` of a turn's abort signal, and what ends an agent that does not heed it. */
export class TurnStopped extends Error {
  override readonly name = 'TurnStopped';
  readonly stopCause: StopCause;

  constructor(stopCause: StopCause) {
    super(`the turn was stopped: ${stopCause}`);
    this.stopCause = stopCause;
  }
}
