import { Command } from 'commander';
import { type LogLevel, logLevelOption, type PlaceOptions, withPlaces } from './options.ts';

export interface ShellCommandOptions extends PlaceOptions {
  readonly model?: string;
  readonly sender: string;
  readonly logLevel: LogLevel;
}

export function shellCommand(): Command {
  return withPlaces(new Command('shell'))
    .option('-m, --model <file>', 'a packed model, or the newest of a folder of them')
    .option('--sender <id>', 'who speaks', 'shell')
    .addOption(logLevelOption('warn'))
    .addHelpText(
      'after',
      `
One line is one message. /stop or the end of the input ends the conversation, /restart begins a
new one. Nothing is kept.

Examples:
  legate shell examples/bank
  echo "what is my balance?" | legate shell examples/bank`,
    )
    .action(async (directory: string, options: ShellCommandOptions) => {
      const { shell } = await import('../shell.ts');
      await shell(directory, options);
    });
}
