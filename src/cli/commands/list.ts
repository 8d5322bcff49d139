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
    .argument('[agent]', 'the agent, unless --agent-card names it')
    .option('--status <state>', 'filter by state: completed, input-required, …')
    .option('--context-id <id>', 'filter by context')
    .option('--after <time>', 'only tasks updated after this time, e.g. 2026-11-15T08:00:00Z')
    .addOption(option('--page-size <count>', 'tasks per page, 1 to 100').argParser(wholeNumber))
    .option('--page-token <token>', 'token of the page to fetch')
    .option('--all', 'fetch all pages')
    .option('--artifacts', 'include artifacts')
    .option('--history <count>', 'maximum number of history messages to print')
    .option('--stream', 'with --json: print one task per line')
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
