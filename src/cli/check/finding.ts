import { errorMessage, shortened } from '../../protocol/index.ts';
import { type CheckId, type Edition, type Rule, type Rules, rules } from './rules.ts';

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
  /** The edition and section of the specification, such as `1.0.1, 3.1.2`; absent for conventions. */
  readonly specification?: string;
}

/**
 * `failed`: violates a requirement of the specification. `warning`: deviates from a recommendation, or from
 * common practice. `skipped`: the check could not run.
 */
export type Outcome = 'passed' | 'failed' | 'warning' | 'skipped';

export interface Report {
  readonly agent: string;
  readonly name?: string;
  readonly checkedAt: string;
  readonly counts: Readonly<Record<Outcome, number>>;
  readonly findings: readonly Finding[];
}

/** One check of a `Subject`. */
export interface Check<Subject> {
  readonly id: CheckId;
  readonly title: string;
  readonly fix: string;
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

/** The name of the subject of checks, and the edition of the specification that applies. */
export interface Scope {
  readonly name: string;
  readonly edition: Edition;
}

/** Runs checks in order: later checks can depend on earlier ones. */
export async function runChecks<Subject>(
  checks: readonly Check<Subject>[],
  subject: Subject,
  scope: Scope,
  onFinding: (finding: Finding) => void,
): Promise<void> {
  for (const check of checks) onFinding(await runCheck(check, subject, scope));
}

async function runCheck<Subject>(
  { id, title, fix, run }: Check<Subject>,
  subject: Subject,
  scope: Scope,
): Promise<Finding> {
  const about = aboutOf(id, title, scope);
  const outcome = violation(id, scope.edition);
  try {
    const seen = await run(subject);
    if (seen === undefined) return { ...about, outcome: 'passed' };
    return { ...about, outcome, detail: shortened(seen, 300), fix };
  } catch (error) {
    const detail = errorMessage(error);
    if (error instanceof CheckSkipped) return { ...about, outcome: 'skipped', detail };
    return { ...about, outcome, detail: shortened(detail, 300), fix };
  }
}

/** The fields of a finding that describe its check. */
export function aboutOf(
  id: CheckId,
  title: string,
  { name, edition }: Scope,
): Pick<Finding, 'id' | 'subject' | 'title' | 'specification'> {
  const rule = ruleOf(id, edition);
  const specification = rule && `${edition}, ${rule.section}`;
  return { id, subject: name, title, ...(specification !== undefined && { specification }) };
}

/** The outcome of a check that an agent does not pass. */
export function violation(id: CheckId, edition: Edition): 'failed' | 'warning' {
  const rule = ruleOf(id, edition);
  return rule === undefined || rule.isMust === false ? 'warning' : 'failed';
}

function ruleOf(id: CheckId, edition: Edition): Rule | undefined {
  const known: Rules = rules[id];
  return known[edition];
}
