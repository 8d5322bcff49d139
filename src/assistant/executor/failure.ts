import type { JsonObject } from '../../protocol/index.ts';

/** A step that cannot be taken. `type` and `info` reach the error pattern; the message only the log. */
export class StepFailure extends Error {
  override readonly name = 'StepFailure';
  readonly type: string;
  readonly info: JsonObject;

  constructor(type: string, message: string, info: JsonObject = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.type = type;
    this.info = info;
  }
}

/** Limits the steps of a turn, so that flows that loop can't hang it. */
export class TooManySteps extends Error {
  override readonly name = 'TooManySteps';
}
