import { locate } from '../../config/index.ts';
import { LegateError } from '../../protocol/index.ts';

/** A condition that cannot be parsed; says where. The only error that conditions throw. */
export class ConditionError extends LegateError {
  /** In characters from the start of the condition. */
  readonly offset: number;
  /** What is wrong, without the place. */
  readonly reason: string;

  constructor(condition: string, offset: number, reason: string, cause?: unknown) {
    const { line, column } = locate(condition, offset);
    const where = line === 1 ? `column ${column}` : `line ${line}, column ${column}`;
    super('CONFIGURATION_INVALID', `condition, ${where}: ${reason}`, { cause });
    this.offset = offset;
    this.reason = reason;
  }
}
