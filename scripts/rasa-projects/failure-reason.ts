import type { CaseResult } from '../../src/assistant/index.ts';
import type { Logger } from '../../src/telemetry/index.ts';

/** Components of an NLU pipeline, which Legate does not have. */
const nluComponent =
  /(?:Classifier|Extractor|EntitySynonymMapper|NLUCommandAdapter|LLMBasedRouter|IntentBasedRouter)$/;

/** The log lines of actions as text, to search for reasons. */
export class ActionLog {
  readonly lines: string[] = [];

  /** A logger that keeps warnings and errors. */
  get logger(): Logger {
    const keep = (fields: Readonly<Record<string, unknown>>, event: string): void => {
      this.lines.push(`${event} ${Object.values(fields).map(textOf).join(' ')}`);
    };
    const ignore = (): void => undefined;
    const logger: Logger = {
      debug: ignore,
      info: ignore,
      warn: keep,
      error: keep,
      child: () => logger,
    };
    return logger;
  }
}

/** The text of an error with its causes; other values as JSON. */
function textOf(value: unknown): string {
  if (!(value instanceof Error)) return JSON.stringify(value) ?? '';
  return value.cause === undefined ? value.message : `${value.message}: ${textOf(value.cause)}`;
}

/**
 * The reason why a test failed, by what is missing: an invalid test, a judge, a Python module, a failed
 * action, an NLU pipeline; otherwise the expectation that was not met.
 */
export function failureReason(
  { failures }: CaseResult,
  { nlu, lines }: { readonly nlu: readonly string[]; readonly lines: readonly string[] },
): string {
  const kinds = failures.map(({ kind }) => kind);
  if (kinds.includes('invalid test')) return `invalid test: ${failures[0]?.expected ?? ''}`;
  if (kinds.some((kind) => kind.startsWith('generative_response'))) return 'model judge';
  const log = lines.join('\n');
  const module = /No module named \\?['"]([\w.]+)/.exec(log)?.[1];
  if (module !== undefined) return `missing Python module: ${module}`;
  const failed = lines.find((line) => line.startsWith('turn.step_failed'));
  // Sub agents and tools need a model or a server, which this script doesn't call.
  if (failed?.includes('nothing answers to call') === true) return 'sub agent';
  if (failed !== undefined) return `action server failed: ${failed.slice(0, 300)}`;
  if (nlu.length > 0) return `NLU pipeline: ${nlu.join(', ')}`;
  return `expectation: ${kinds[0] ?? 'unknown'}`;
}

/** The NLU components in a project's pipeline. */
export function nluComponents(names: readonly string[]): readonly string[] {
  return names.filter((name) => nluComponent.test(name));
}

/** The class of a reason: the text before its colon. */
export function reasonClass(reason: string): string {
  return reason.split(':', 1)[0] ?? reason;
}
