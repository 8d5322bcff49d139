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
    .description('receive the webhooks of a task and print them')
    .argument('[task...]', 'the agent (unless --agent-card names it) and the task id')
    .addOption(portOption(0))
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option('--url <url>', 'public URL of this receiver, for instance behind a proxy')
    .addOption(option('--count <count>', 'exit after this many calls').argParser(wholeNumber))
    .addHelpText(
      'after',
      `${clientNotes}
Registers a webhook with its own token and deletes it on exit. Exits when the task ends, after --count
calls, or on Ctrl+C.

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
