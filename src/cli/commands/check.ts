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
    .argument('[agent]', 'the agent, where no flag names it')
    .addOption(
      new Option('-f, --format <format>', 'of the report')
        .choices(['text', 'json', 'html'] as const)
        .default('text' as const),
    )
    .option('--report <file>', 'write the report there instead of to standard output')
    .addOption(option('--message <text>', 'what to say to the agent').default('Hello'))
    .option('--read-only', 'send no messages: look at the card and its caching alone')
    .option('--all', 'list also what passed and what was not tried')
    .option('--fail-on-warnings', 'take warnings for failures')
    .option(
      '--tck <folder>',
      'run the demands of the A2A project instead, from a checkout of its kit (a2a-tck)',
    )
    .addHelpText(
      'after',
      `${clientNotes}
Messages are sent, so tasks are made, and requests that are wrong on purpose. The exit code is 1 when
something fails.

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
