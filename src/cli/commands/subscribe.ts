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
    .argument('[task...]', 'the agent (unless --agent-card names it) and the task id')
    .option('--stream', 'print events as they arrive; with --json, one object per line')
    .option('--last-event-id <id>', 'resume after this event, if the agent numbers its events')
    .addOption(awaitAuthOption())
    .addOption(pollIntervalOption())
    .addHelpText(
      'after',
      `${clientNotes}
Without --stream, prints the task when it has ended. Broken connections are resumed.

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
