import { Command } from 'commander';
import {
  awaitAuthOption,
  type ClientCommandOptions,
  clientNotes,
  lineOption,
  option,
  pollIntervalOption,
  withClient,
} from './client-options.ts';

export interface GetCommandOptions extends ClientCommandOptions {
  readonly wait?: boolean;
  readonly history?: string;
  readonly stream?: boolean;
  readonly awaitAuth?: boolean;
  readonly pollInterval?: string;
}

export function getCommand(): Command {
  const command = new Command('get')
    .argument('[task...]', 'the agent (unless --agent-card names it) and the task id')
    .option('--wait', 'wait until the task ends or needs input')
    .addOption(option('--watch', 'alias of --wait').implies({ wait: true }))
    .addOption(lineOption())
    .addOption(awaitAuthOption())
    .addOption(pollIntervalOption())
    .option('--history <count>', 'maximum number of history messages to print')
    .addHelpText(
      'after',
      `${clientNotes}

Examples:
  legate get http://localhost:8000 01a1…
  legate task get -a agent.example --wait --timeout 5m 01a1…
  legate get -a agent.example --json --history 0 01a1… | jq .status.state`,
    );
  return withClient(command).action(
    async (operands: readonly string[], options: GetCommandOptions) => {
      const { getTask } = await import('../client/get.ts');
      await getTask(operands, options);
    },
  );
}
