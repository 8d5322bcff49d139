import { Command } from 'commander';
import {
  type ClientCommandOptions,
  clientNotes,
  option,
  wholeNumber,
  withClient,
} from './client-options.ts';

export interface ListCommandOptions extends ClientCommandOptions {
  readonly status?: string;
  readonly contextId?: string;
  readonly after?: string;
  readonly pageSize?: number;
  readonly pageToken?: string;
  readonly all?: boolean;
  readonly history?: string;
  readonly artifacts?: boolean;
  readonly stream?: boolean;
}

export function listCommand(): Command {
  const command = new Command('list')
    .argument('[agent]', 'the agent, where no flag names it')
    .option('--status <state>', 'only tasks in this state: completed, input-required, …')
    .option('--context-id <id>', 'only tasks of this conversation')
    .option('--after <time>', 'only tasks that changed since, for instance 2026-11-15T08:00:00Z')
    .addOption(option('--page-size <count>', 'tasks of one page, 1 to 100').argParser(wholeNumber))
    .option('--page-token <token>', 'the page after another one')
    .option('--all', 'all pages')
    .option('--artifacts', 'with what the tasks made')
    .option('--history <count>', 'the most messages of the past to show')
    .option('--stream', 'with --json: one task a line')
    .addHelpText(
      'after',
      `${clientNotes}

Examples:
  legate list http://localhost:8000
  legate task list -a agent.example --status input-required
  legate list -a agent.example --all --json --stream | jq -r .id`,
    );
  return withClient(command).action(
    async (agent: string | undefined, options: ListCommandOptions) => {
      const { listTasks } = await import('../client/list.ts');
      await listTasks(agent === undefined ? [] : [agent], options);
    },
  );
}
