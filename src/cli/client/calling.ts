import { present } from '../../config/index.ts';
import { LegateError } from '../../protocol/index.ts';
import type { ClientCommandOptions } from '../commands/options.ts';
import { describeFailure } from './failure.ts';
import { Session } from './session.ts';

/**
 * Runs a command that calls an agent, and reports its failure as the A2A CLI specification requires
 * (11.4): as one JSON object on standard output with `--output json`, else as text on standard error.
 */
export async function calling(
  options: ClientCommandOptions,
  operands: readonly string[] | string | undefined,
  run: (session: Session) => Promise<void>,
): Promise<void> {
  let session: Session | undefined;
  const interrupt = (): void => session?.interrupt();
  process.once('SIGINT', interrupt);
  try {
    session = new Session(options, operands);
    await run(session);
    session.hasResult();
  } catch (error) {
    // A task that does not exist cannot be seen later.
    if (!(error instanceof LegateError && error.code === 'TASK_NOT_FOUND')) session?.nameTask();
    if (session?.signal.aborted === true) {
      session.warn('interrupted');
      process.exitCode = 130;
      return;
    }
    process.exitCode = report(error, session, isJson(options, session));
  } finally {
    process.removeListener('SIGINT', interrupt);
    session?.close();
  }
}

/** Finds the requested output format, even when the rest of the command line is invalid. */
function isJson({ json, output }: ClientCommandOptions, session: Session | undefined): boolean {
  return session?.choices.isJson ?? (json === true || output === 'json');
}

/** Prints the failure and returns the exit code. */
function report(error: unknown, session: Session | undefined, isJson: boolean): number {
  const { code, a2aCode, exit, ...texts } = describeFailure(error, {
    hasCredentials: session?.hasCredentials ?? false,
    schemes: session?.schemes ?? [],
    ...present({ agentFlag: session?.choices.agentFlag }),
  });
  const clean = (text: string): string => session?.redactor.clean(text) ?? text;
  const message = clean(texts.message);
  const hint = texts.hint === null ? null : clean(texts.hint);
  if (isJson) {
    process.stdout.write(`${JSON.stringify({ error: { code, message, hint, a2aCode } })}\n`);
  } else {
    console.error(`legate: ${message} (${code})`);
    if (hint !== null) console.error(`Hint: ${hint}`);
  }
  return exit;
}
