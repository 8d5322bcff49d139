import { locate } from '../../config/index.ts';
import { LegateError } from '../../protocol/index.ts';

/** A template that cannot be parsed or rendered; says where in the template. */
export class TemplateError extends LegateError {
  /** In characters from the start of the template. */
  readonly offset: number;
  /** What is wrong, without the place. */
  readonly reason: string;

  constructor(template: string, offset: number, reason: string, cause?: unknown) {
    const { line, column } = locate(template, offset);
    super('CONFIGURATION_INVALID', `template line ${line}, column ${column}: ${reason}`, { cause });
    this.offset = offset;
    this.reason = reason;
  }
}
