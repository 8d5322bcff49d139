import { Command } from 'commander';
import { collect, option } from './client-options.ts';
import { type LogLevel, logLevelOption, type PlaceOptions, withPlaces } from './options.ts';

export interface ShellCommandOptions extends PlaceOptions {
  readonly model?: string;
  readonly sender: string;
  readonly contextId?: string;
  readonly bearer?: string;
  readonly apiKey?: string;
  readonly svcParam?: readonly string[];
  readonly a2aVersion?: string;
  readonly logLevel: LogLevel;
}

export function shellCommand(): Command {
  return withPlaces(new Command('shell'), 'folder of an assistant, or URL of any A2A agent')
    .option('-m, --model <file>', 'a packed model, or the newest of a folder of them')
    .option('--sender <id>', 'who speaks', 'shell')
    .option('--context-id <id>', 'of an agent: go on with this conversation')
    .option('--bearer <token>', 'of an agent: its bearer token; better A2ACLI_BEARER')
    .option('--api-key <key>', 'of an agent: its API key; better A2ACLI_API_KEY')
    .addOption(option('--svc-param <name:value>', 'of an agent: a header').argParser(collect))
    .option('--a2a-version <version>', 'of an agent: 1.0 or 0.3 (default: the newest it speaks)')
    .addOption(logLevelOption('warn'))
    .addHelpText(
      'after',
      `
One line is one message. /stop or the end of the input ends the conversation, /restart begins a
new one. /slots, /stack and /history look inside of an assistant; with an agent, /help tells more.
Nothing is kept here.

Examples:
  legate shell examples/bank
  legate shell http://localhost:8000
  echo "what is my balance?" | legate shell examples/bank`,
    )
    .action(async (directory: string, options: ShellCommandOptions) => {
      if (/^https?:\/\//i.test(directory)) {
        const { remoteShell } = await import('../remote-shell.ts');
        await remoteShell(directory, options);
        return;
      }
      const { shell } = await import('../shell.ts');
      await shell(directory, options);
    });
}
