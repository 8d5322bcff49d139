import { Command, CommanderError } from 'commander';
import { errorTable, LegateError } from '../protocol/index.ts';

/** The `legate` command. Each subcommand is loaded when it is called. */
export async function main(args: readonly string[]): Promise<void> {
  const program = new Command('legate')
    .description('Serve agents on the Agent-to-Agent network, and call them.')
    .showSuggestionAfterError()
    .exitOverride();
  program
    .command('hello')
    .description('serve a greeting agent, to see that everything works')
    .option('-p, --port <port>', 'port to listen on', '8000')
    .option('--data <directory>', 'where tasks are kept', '.legate')
    .action(async (options: { port: string; data: string }) => {
      const { hello } = await import('./hello.ts');
      await hello({ port: Number(options.port), data: options.data });
    });
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    process.exitCode = report(error);
  }
}

/** Says what went wrong, in one line, and gives the exit code. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof LegateError) {
    console.error(`legate: ${error.message}`);
    return errorTable[error.code].exit;
  }
  console.error(error);
  return 1;
}
