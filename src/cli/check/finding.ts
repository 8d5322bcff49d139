/** The result of one check. */
export interface Finding {
  /** Stable, for scripts: `errors.unknown-task`. */
  readonly id: string;
  /** The subject of the check: `card`, or an interface such as `JSONRPC 1.0`. */
  readonly subject: string;
  readonly title: string;
  readonly outcome: Outcome;
  /** What the agent did instead; absent when the check passed. */
  readonly detail?: string;
  /** How to fix it, when the check did not pass. */
  readonly fix?: string;
  /** The section of the specification. */
  readonly specification?: string;
}

/** `warning`: recommended by the specification or good practice. `skipped`: the check could not run. */
export type Outcome = 'passed' | 'failed' | 'warning' | 'skipped';

export interface Report {
  readonly agent: string;
  readonly name?: string;
  readonly checkedAt: string;
  readonly counts: Readonly<Record<Outcome, number>>;
  readonly findings: readonly Finding[];
}

/** One check. `Subject` is what it runs on. */
export interface Check<Subject> {
  readonly id: string;
  readonly title: string;
  readonly specification?: string;
  readonly fix: string;
  /** Reports a failure as a warning. @default false */
  readonly isAdvice?: boolean;
  /** Undefined when the check passes; else what the agent did instead. */
  readonly run: (subject: Subject) => Promise<string | undefined> | string | undefined;
}

/** Thrown by a check that cannot run here. */
export class CheckSkipped extends Error {
  override readonly name = 'CheckSkipped';
}

export function skip(why: string): never {
  throw new CheckSkipped(why);
}

/** Runs checks in order: later ones may depend on earlier ones. */
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
