import { Command } from 'commander';
import {
  awaitAuthOption,
  type ClientCommandOptions,
  clientNotes,
  pollIntervalOption,
  withClient,
} from './client-options.ts';

export interface SubscribeCommandOptions extends ClientCommandOptions {
  readonly stream?: boolean;
  readonly lastEventId?: string;
  readonly awaitAuth?: boolean;
  readonly pollInterval?: string;
}

export function subscribeCommand(): Command {
  const command = new Command('subscribe')
    .argument('[task...]', 'the agent, where no flag names it, and the id of the task')
    .option('--stream', 'show what happens as it happens; JSON is then one object a line')
    .option('--last-event-id <id>', 'go on after this event, where the agent numbers its events')
    .addOption(awaitAuthOption())
    .addOption(pollIntervalOption())
    .addHelpText(
      'after',
      `${clientNotes}
Without --stream the task is shown when it has ended. A connection that breaks is taken up again.

Examples:
  legate subscribe http://localhost:8000 --stream 01a1…
  legate task subscribe -a agent.example --stream --json 01a1…`,
    );
  return withClient(command).action(
    async (operands: readonly string[], options: SubscribeCommandOptions) => {
      const { subscribe } = await import('../client/subscribe.ts');
      await subscribe(operands, options);
    },
  );
}
