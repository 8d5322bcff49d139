import { Command } from 'commander';
import { type ClientCommandOptions, clientNotes, withClient } from './client-options.ts';
import { listenCommand } from './listen.ts';

export interface PushConfigCommandOptions extends ClientCommandOptions {
  readonly url?: string;
  readonly id?: string;
  readonly token?: string;
  readonly scheme?: string;
}

export type PushConfigVerb = 'create' | 'get' | 'list' | 'delete';

export function pushConfigCommand(): Command {
  const command = new Command('push-config').description('manage the webhooks of a task');
  command.addCommand(
    verb('create', 'have a webhook called when a task changes')
      .requiredOption('--url <url>', 'what to call')
      .option('--id <id>', 'its name')
      .option('--token <token>', 'sent along, so that the receiver knows its own')
      .option(
        '--scheme <scheme>',
        'of the credentials in A2ACLI_PUSH_CREDENTIALS, for instance Bearer',
      ),
  );
  command.addCommand(
    verb('get', 'show one webhook').option('--id <id>', 'its name; without it, the only one'),
  );
  command.addCommand(verb('list', 'show the webhooks of a task'));
  command.addCommand(verb('delete', 'take one away').requiredOption('--id <id>', 'its name'));
  command.addCommand(listenCommand());
  return command.addHelpText(
    'after',
    `
Examples:
  legate task push-config create -a agent.example 01a1… --url https://me.example/hook
  legate task push-config list -a agent.example --json 01a1…
  legate task push-config delete -a agent.example 01a1… --id hook`,
  );
}

function verb(name: PushConfigVerb, summary: string): Command {
  const command = new Command(name)
    .description(summary)
    .argument('[task...]', 'the agent, where no flag names it, and the id of the task')
    .addHelpText(
      'after',
      `${clientNotes}

Example:
  legate task push-config ${name} -a agent.example 01a1…${name === 'create' ? ' --url https://me.example/hook' : ''}`,
    );
  return withClient(command).action(
    async (operands: readonly string[], options: PushConfigCommandOptions) => {
      const { managePushConfig } = await import('../client/push-config.ts');
      await managePushConfig(name, operands, options);
    },
  );
}
