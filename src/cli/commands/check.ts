import { Command, Option } from 'commander';
import { type ClientCommandOptions, clientNotes, option, withClient } from './client-options.ts';

export interface CheckCommandOptions extends ClientCommandOptions {
  readonly format: 'text' | 'json' | 'html';
  readonly report?: string;
  readonly message: string;
  readonly readOnly?: boolean;
  readonly all?: boolean;
  readonly failOnWarnings?: boolean;
  readonly tck?: string;
}

export function checkCommand(): Command {
  const command = new Command('check')
    .argument('[agent]', 'the agent, unless --agent-card names it')
    .addOption(
      new Option('-f, --format <format>', 'format of the report')
        .choices(['text', 'json', 'html'] as const)
        .default('text' as const),
    )
    .option('--report <file>', 'write the report to this file instead of standard output')
    .addOption(option('--message <text>', 'message to send to the agent').default('Hello'))
    .option('--read-only', 'send no messages; check only the card and its caching')
    .option('--all', 'also list passed and skipped checks')
    .option('--fail-on-warnings', 'treat warnings as failures')
    .option('--tck <folder>', "run the A2A project's test kit instead, from a checkout of a2a-tck")
    .addHelpText(
      'after',
      `${clientNotes}
The check sends messages, which create tasks, and invalid requests. Exits with 1 if a check fails.

Examples:
  legate check http://localhost:8000
  legate check agent.example --format html --report report.html
  legate conformance http://localhost:8000 --tck ../a2a-tck --transport jsonrpc
  A2ACLI_BEARER=… legate check agent.example --json | jq '.findings[] | select(.outcome == "failed")'`,
    );
  return withClient(command).action(
    async (agent: string | undefined, options: CheckCommandOptions) => {
      const { check } = await import('../check/check.ts');
      await check(agent === undefined ? [] : [agent], options);
    },
  );
}
