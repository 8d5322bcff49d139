import { Command, CommanderError } from 'commander';
import { catalogue, type CommandEntry } from './commands/catalogue.ts';
import { packageVersion } from './commands/version.ts';

/**
 * The `legate` command. What a subcommand needs is loaded when it is called, so that help is quick.
 * Standard output has the result and nothing else; whatever is said about it goes to standard error.
 */
export async function main(args: readonly string[]): Promise<void> {
  leaveWithReaders(args);
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
  for (const entry of catalogue) {
    const { name, aliases = [], group, summary, load } = entry;
    const command = isCalled(namesOf(entry), args) ? await load() : new Command(name);
    program.addCommand(command.aliases(aliases).description(summary).helpGroup(group));
  }
  throwInsteadOfExit(program);
  try {
    await program.parseAsync(helpOfKnown(args), { from: 'user' });
  } catch (error) {
    process.exitCode = await report(error, args);
  }
}

/**
 * A reader that has seen enough, as in `legate list | head`, is no failure: whoever wrote for it is
 * done. Servers go on; nobody has to read what they say.
 */
function leaveWithReaders(args: readonly string[]): void {
  const isServer = catalogue.some(
    (entry) => entry.serves === true && isCalled(namesOf(entry), args),
  );
  const leave = (error: NodeJS.ErrnoException): void => {
    if (error.code !== 'EPIPE') throw error;
    if (!isServer) process.exit();
  };
  process.stdout.on('error', leave);
  process.stderr.on('error', leave);
}

function namesOf({ name, aliases = [] }: CommandEntry): readonly string[] {
  return [name, ...aliases];
}

/** Help for what is not there is told as the command itself would be, with what may be meant. */
function helpOfKnown(args: readonly string[]): readonly string[] {
  const [first, second, ...rest] = args;
  const isKnown = catalogue.some((entry) => namesOf(entry).includes(second ?? ''));
  const isWrong = first === 'help' && second !== undefined && second !== 'help' && !isKnown;
  return isWrong ? [second, ...rest] : args;
}

/** `legate run …` and `legate help run` need all of the command, others only its name. */
function isCalled(names: readonly string[], args: readonly string[]): boolean {
  const [first = '', second = ''] = args.filter((arg) => !arg.startsWith('-'));
  return names.includes(first) || (first === 'help' && names.includes(second));
}

function throwInsteadOfExit(command: Command): void {
  command.exitOverride();
  for (const inner of command.commands) {
    inner.copyInheritedSettings(command);
    throwInsteadOfExit(inner);
  }
}

/** Says what went wrong, in as few words as possible, and gives the exit code. */
async function report(error: unknown, args: readonly string[]): Promise<number> {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0;
    if (wantsEnvelope(args)) tellUsage(error.message);
    return 2;
  }
  const { errorTable, LegateError } = await import('../protocol/index.ts');
  if (error instanceof LegateError) {
    console.error(`legate: ${error.message}`);
    return errorTable[error.code].exit;
  }
  const { systemFailure } = await import('./system-failure.ts');
  const refusal = systemFailure(error);
  console.error(refusal === undefined ? error : `legate: ${refusal}`);
  return 1;
}

/** Commands that call agents tell their failures as JSON where JSON is asked for. */
function wantsEnvelope(args: readonly string[]): boolean {
  const output = args.findIndex((arg) => arg === '-o' || arg === '--output');
  const isJson =
    args.includes('--json') ||
    args.includes('--output=json') ||
    (output !== -1 && args[output + 1] === 'json');
  return isJson && catalogue.some(({ name, callsAgents }) => name === args[0] && callsAgents);
}

function tellUsage(text: string): void {
  const message = text.replace(/^error: /, '');
  const error = { code: 'A2ACLI_ERR_USAGE', message, hint: 'see --help', a2aCode: null };
  process.stdout.write(`${JSON.stringify({ error })}\n`);
}
