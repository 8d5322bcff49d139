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
    .argument('[task...]', 'the agent (unless --agent-card names it) and the task id')
    .option('--metadata <json>', 'JSON object to send with the request')
    .addOption(lineOption())
    .addHelpText(
      'after',
      `${clientNotes}
Canceling a task that is already canceled is not an error.

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
