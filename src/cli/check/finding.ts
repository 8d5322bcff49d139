/** What was found about one thing that an agent should do. */
export interface Finding {
  /** Stable, for scripts: `errors.unknown-task`. */
  readonly id: string;
  /** What was looked at: `card`, or an interface such as `JSONRPC 1.0`. */
  readonly subject: string;
  readonly title: string;
  readonly outcome: Outcome;
  /** What was seen; absent where all is well. */
  readonly detail?: string;
  /** How to fix it, where it is not well. */
  readonly fix?: string;
  /** Where the specification says so. */
  readonly specification?: string;
}

/** `warning`: the specification recommends it, or caution does. `skipped`: it could not be tried. */
export type Outcome = 'passed' | 'failed' | 'warning' | 'skipped';

export interface Report {
  readonly agent: string;
  readonly name?: string;
  readonly checkedAt: string;
  readonly counts: Readonly<Record<Outcome, number>>;
  readonly findings: readonly Finding[];
}

/** One thing to try on a subject. `Subject` is what it is tried on. */
export interface Check<Subject> {
  readonly id: string;
  readonly title: string;
  readonly specification?: string;
  readonly fix: string;
  /** Whether a failure is only a warning. @default false */
  readonly isAdvice?: boolean;
  /** Undefined: as it should be. A text: what was seen instead. */
  readonly run: (subject: Subject) => Promise<string | undefined> | string | undefined;
}

/** Thrown by a check that cannot be tried here. */
export class CheckSkipped extends Error {
  override readonly name = 'CheckSkipped';
}

export function skip(why: string): never {
  throw new CheckSkipped(why);
}

/** Runs checks one after the other: later ones may build on what earlier ones did. */
export async function runChecks<Subject>(
  checks: readonly Check<Subject>[],
  subject: Subject,
  name: string,
  onFinding: (finding: Finding) => void,
): Promise<void> {
  for (const check of checks) onFinding(await runCheck(check, subject, name));
}

async function runCheck<Subject>(
  { id, title, specification, fix, isAdvice = false, run }: Check<Subject>,
  subject: Subject,
  name: string,
): Promise<Finding> {
  const about = {
    id,
    subject: name,
    title,
    ...(specification !== undefined && { specification }),
  };
  try {
    const seen = await run(subject);
    if (seen === undefined) return { ...about, outcome: 'passed' };
    return { ...about, outcome: isAdvice ? 'warning' : 'failed', detail: shortened(seen), fix };
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    if (error instanceof CheckSkipped) return { ...about, outcome: 'skipped', detail };
    return { ...about, outcome: 'failed', detail: shortened(detail), fix };
  }
}

function shortened(text: string): string {
  return text.length > 300 ? `${text.slice(0, 299)}…` : text;
}
