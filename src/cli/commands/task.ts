import { Command } from 'commander';
import { cancelCommand } from './cancel.ts';
import { type ClientCommandOptions, clientNotes, withClient } from './client-options.ts';
import { getCommand } from './get.ts';
import { listCommand } from './list.ts';
import { pushConfigCommand } from './push-config.ts';
import { subscribeCommand } from './subscribe.ts';

export interface DownloadCommandOptions extends ClientCommandOptions {
  readonly directory: string;
  readonly force?: boolean;
}

/** The commands about tasks under the names of the A2A CLI specification. */
export function taskCommand(): Command {
  return new Command('task')
    .addCommand(getCommand().description('print a task'))
    .addCommand(listCommand().description('list tasks'))
    .addCommand(cancelCommand().description('cancel a task'))
    .addCommand(subscribeCommand().description('follow the events of a task'))
    .addCommand(downloadCommand())
    .addCommand(pushConfigCommand())
    .addHelpText(
      'after',
      `
get, list, cancel and subscribe also work without "task".

Examples:
  legate task get -a agent.example --wait 01a1…
  legate task download -a agent.example 01a1… --directory results`,
    );
}

function downloadCommand(): Command {
  const command = new Command('download')
    .description('save the artifacts of a task')
    .argument('[task...]', 'the agent (unless --agent-card names it) and the task id')
    .option('-d, --directory <folder>', 'target folder', '.')
    .option('--force', 'overwrite existing files')
    .addHelpText(
      'after',
      `${clientNotes}
Prints the paths of the saved files. Files that an agent refers to by URL are not downloaded.

Examples:
  legate task download http://localhost:8000 01a1…
  legate task download -a agent.example --directory results --force 01a1…`,
    );
  return withClient(command).action(
    async (operands: readonly string[], options: DownloadCommandOptions) => {
      const { download } = await import('../client/download.ts');
      await download(operands, options);
    },
  );
}
