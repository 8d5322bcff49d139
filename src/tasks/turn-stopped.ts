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
