import { Command } from 'commander';
import {
  type ClientCommandOptions,
  clientNotes,
  option,
  wholeNumber,
  withClient,
} from './client-options.ts';
import { portOption } from './options.ts';

export interface ListenCommandOptions extends ClientCommandOptions {
  readonly port: number;
  readonly host: string;
  readonly url?: string;
  readonly count?: number;
}

export function listenCommand(): Command {
  const command = new Command('listen')
    .description('receive the webhooks of a task, and show what they say')
    .argument('[task...]', 'the agent, where no flag names it, and the id of the task')
    .addOption(portOption(0))
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option('--url <url>', 'where the agent reaches this receiver, behind a proxy for instance')
    .addOption(option('--count <count>', 'end after so many').argParser(wholeNumber))
    .addHelpText(
      'after',
      `${clientNotes}
The webhook is registered with the agent, with a token of its own, and taken away at the end. It ends
when the task does, after --count calls, or with Ctrl+C.

Examples:
  legate task push-config listen http://localhost:8000 01a1…
  legate task push-config listen -a agent.example --json --url https://me.example/hook 01a1…`,
    );
  return withClient(command).action(
    async (operands: readonly string[], options: ListenCommandOptions) => {
      const { listen } = await import('../client/listen.ts');
      await listen(operands, options);
    },
  );
}
