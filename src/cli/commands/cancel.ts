import { Command } from 'commander';
import {
  type ClientCommandOptions,
  clientNotes,
  lineOption,
  withClient,
} from './client-options.ts';

export interface CancelCommandOptions extends ClientCommandOptions {
  readonly metadata?: string;
  readonly stream?: boolean;
}

export function cancelCommand(): Command {
  const command = new Command('cancel')
    .argument('[task...]', 'the agent, where no flag names it, and the id of the task')
    .option('--metadata <json>', 'an object to go with the request')
    .addOption(lineOption())
    .addHelpText(
      'after',
      `${clientNotes}
A task that is canceled already stays so, and that is no error.

Examples:
  legate cancel http://localhost:8000 01a1…
  legate task cancel -a agent.example --json 01a1…`,
    );
  return withClient(command).action(
    async (operands: readonly string[], options: CancelCommandOptions) => {
      const { cancelTask } = await import('../client/cancel.ts');
      await cancelTask(operands, options);
    },
  );
}
