import { LegateError } from '../protocol/index.ts';

/** A regular expression that the engine can't compile: `reason` says why, `hint` what to write instead. */
export class PatternError extends LegateError {
  readonly reason: string;
  readonly hint: string | undefined;

  constructor(reason: string, hint?: string, cause?: unknown) {
    super('CONFIGURATION_INVALID', hint === undefined ? reason : `${reason}; ${hint}`, { cause });
    this.reason = reason;
    this.hint = hint;
  }
}

const linearTime = 'patterns run in linear time (RE2)';

/** Constructs of backtracking engines, with what an author can do about each. */
const unsupported: readonly (readonly [RegExp, string, string])[] = [
  [
    /\(\?<?[=!]/,
    'lookahead and lookbehind are not supported',
    `${linearTime}: join several conditions with "and" and "not" instead`,
  ],
  [
    /\\[1-9]|\\k<|\(\?P=/,
    'backreferences are not supported',
    `${linearTime}: compare the parts in a custom action instead`,
  ],
  [
    /\(\?>|[*+?}]\+/,
    'atomic groups and possessive quantifiers are not supported',
    `${linearTime} and need none: write (?:...) and a plain quantifier`,
  ],
  [
    /\(\?[a-zA-Z]*x/,
    'verbose patterns, (?x), are not supported',
    'write the pattern without spaces and comments',
  ],
];

/** Turns the engine's complaint into an error that names the construct and a remedy. */
export function toPatternError(source: string, cause: Error): PatternError {
  // Escaped backslashes and character classes hold none of these constructs.
  const plain = source.replace(/\\\\|\[\^?\]?(?:\\[^]|[^\]\\])*\]/g, '_');
  const known = unsupported.find(([construct]) => construct.test(plain));
  if (known !== undefined) return new PatternError(known[1], known[2], cause);
  const reason = cause.message.replace(/^error parsing regexp: /, '');
  const hint = reason.startsWith('invalid repeat count')
    ? 'a pattern may repeat at most 1000 times'
    : undefined;
  return new PatternError(`not a regular expression: ${reason}`, hint, cause);
}
