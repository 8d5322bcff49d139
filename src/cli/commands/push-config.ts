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
    verb('create', 'register a webhook for a task')
      .requiredOption('--url <url>', 'webhook URL')
      .option('--id <id>', 'id of the webhook')
      .option('--token <token>', 'token to send with each call, for the receiver to verify')
      .option(
        '--scheme <scheme>',
        'authentication scheme for A2ACLI_PUSH_CREDENTIALS, e.g. Bearer',
      ),
  );
  command.addCommand(
    verb('get', 'print a webhook').option(
      '--id <id>',
      'id of the webhook; optional if there is only one',
    ),
  );
  command.addCommand(verb('list', 'list the webhooks of a task'));
  command.addCommand(
    verb('delete', 'delete a webhook').requiredOption('--id <id>', 'id of the webhook'),
  );
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
    .argument('[task...]', 'the agent (unless --agent-card names it) and the task id')
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
