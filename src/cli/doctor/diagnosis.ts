import { LegateError } from '../../protocol/index.ts';

/** The result of one check of the environment. */
export interface Diagnosis {
  readonly what: string;
  readonly outcome: 'passed' | 'failed' | 'warning' | 'skipped';
  readonly found: string;
  /** How to fix it, when it did not pass. */
  readonly fix?: string;
}

export function passed(what: string, found: string): Diagnosis {
  return { what, outcome: 'passed', found };
}

export function failed(what: string, found: string, fix: string): Diagnosis {
  return { what, outcome: 'failed', found, fix };
}

export function warning(what: string, found: string, fix: string): Diagnosis {
  return { what, outcome: 'warning', found, fix };
}

export function skipped(what: string, found: string): Diagnosis {
  return { what, outcome: 'skipped', found };
}

/** Timeout of each check, in milliseconds. */
export const probeTimeoutMs = 5_000;

/** The time limit of each check. */
export const timeLimit = {
  milliseconds: probeTimeoutMs,
  reason: () => new Error(`no answer within ${probeTimeoutMs} ms`),
};

/** The message of a failure, without user and password of URLs. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? deepest(error) : String(error);
  return text.replaceAll(/\/\/[^/@\s]+@/g, '//');
}

function deepest(error: Error): string {
  if (error instanceof LegateError || !(error.cause instanceof Error)) {
    return error.message || ('code' in error ? String(error.code) : error.name);
  }
  return deepest(error.cause);
}
