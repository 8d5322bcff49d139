import { Command, CommanderError } from 'commander';
import { callsAgents, catalogue } from './commands/catalogue.ts';
import { isServer } from './commands/declare.ts';
import { packageVersion } from './commands/version.ts';
import { fromRasa } from './commands/rasa-habits.ts';

/**
 * The `legate` command. The code of a subcommand is loaded when it runs, so that help is fast.
 * Standard output carries only the result; diagnostics go to standard error.
 */
export async function main(given: readonly string[]): Promise<void> {
  const { args, warning, exitCode } = fromRasa(given);
  if (warning !== undefined) console.error(`legate: ${warning}`);
  if (exitCode !== undefined) {
    process.exitCode = exitCode;
    return;
  }
  const program = new Command('legate')
    .description('Build, serve and call agents over the Agent-to-Agent (A2A) protocol.')
    .version(packageVersion(), '-v, --version', 'print the version')
    .showSuggestionAfterError()
    .showHelpAfterError('(run with --help to see all commands and options)')
    .addHelpText(
      'after',
      `
Examples:
  legate init my-assistant && cd my-assistant && legate run --inspect
  legate send http://localhost:5005 "Book a table"
  legate check http://localhost:5005
` +
        '\nExit codes: 0 success, 1 error or failed checks, 2 invalid usage or configuration, 3 unreachable,\n' +
        '4 not authenticated, 5 timed out. Commands that print a task, such as send, exit with 0 even if the\n' +
        'task failed: check its state. call and work --once exit with 1 then.',
    );
  for (const command of catalogue()) program.addCommand(command);
  throwInsteadOfExit(program);
  // The list of commands shows names only; the help of each command shows its options.
  program.configureHelp({ subcommandTerm: (one) => [one.name(), ...one.aliases()].join('|') });
  const find = (name = ''): Command | undefined =>
    program.commands.find((one) => one.name() === name || one.aliases().includes(name));
  const called = find(args.find((arg) => !arg.startsWith('-')));
  leaveWithReaders(called !== undefined && isServer(called));
  // Keeps the process alive while a server starts: its own timers are unreferenced.
  const running = setInterval(() => undefined, 60_000);
  try {
    // Help for an unknown command fails like the command itself, with suggestions.
    const [first, second, ...rest] = args;
    const isUnknown = first === 'help' && second !== undefined && second !== 'help';
    const typed = isUnknown && find(second) === undefined ? [second, ...rest] : args;
    await program.parseAsync(typed, { from: 'user' });
  } catch (error) {
    process.exitCode = await report(error, args, called);
  } finally {
    clearInterval(running);
  }
}

/**
 * Exits without an error when the reader closes the pipe early, as in `legate list | head`. Servers keep
 * running without a reader.
 */
function leaveWithReaders(isServing: boolean): void {
  const leave = (error: NodeJS.ErrnoException): void => {
    if (error.code !== 'EPIPE') throw error;
    if (!isServing) process.exit();
  };
  process.stdout.on('error', leave);
  process.stderr.on('error', leave);
}

function throwInsteadOfExit(command: Command): void {
  command.exitOverride();
  for (const inner of command.commands) {
    inner.copyInheritedSettings(command);
    throwInsteadOfExit(inner);
  }
}

/** Prints the error in one line and returns the exit code. */
async function report(
  error: unknown,
  args: readonly string[],
  called: Command | undefined,
): Promise<number> {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0;
    if (called !== undefined && callsAgents(called) && wantsJson(args)) tellUsage(error.message);
    return 2;
  }
  const { errorTable, LegateError } = await import('../protocol/index.ts');
  if (error instanceof LegateError) {
    console.error(`legate: ${error.message}`);
    return errorTable[error.code].exit;
  }
  const { systemFailure } = await import('./system-failure.ts');
  const { userStack } = await import('./user-stack.ts');
  const refusal = systemFailure(error);
  console.error(refusal === undefined ? userStack(error) : `legate: ${refusal}`);
  return 1;
}

function wantsJson(args: readonly string[]): boolean {
  const output = args.findIndex((arg) => arg === '-o' || arg === '--output');
  const isJson = args.includes('--json') || args.includes('--output=json');
  return isJson || (output !== -1 && args[output + 1] === 'json');
}

function tellUsage(text: string): void {
  const message = text.replace(/^error: /, '');
  const error = { code: 'A2ACLI_ERR_USAGE', message, hint: 'see --help', a2aCode: null };
  process.stdout.write(`${JSON.stringify({ error })}\n`);
}
