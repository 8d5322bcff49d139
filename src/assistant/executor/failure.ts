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

/** One message may cause only so many steps: flows that go round in circles must not hang a turn. */
export class TooManySteps extends Error {
  override readonly name = 'TooManySteps';
}
