import { Command } from 'commander';
import { type BusPlaceOptions, positiveNumber, withBus } from './bus-options.ts';
import { type LogLevel, logLevelOption } from './options.ts';

export interface CallCommandOptions extends BusPlaceOptions {
  readonly name: string;
  readonly wellKnown?: string;
  readonly data?: string;
  readonly metadata?: readonly string[];
  readonly timeout: number;
  readonly answer?: readonly string[];
  readonly json?: boolean;
  readonly logLevel: LogLevel;
}

export function callCommand(): Command {
  return withBus(new Command('call'))
    .argument('<agent>', 'name on the bus, URL (https://...), or name in --well-known')
    .argument('<skill>', 'id of the skill to call')
    .argument('<message>', 'the message; - reads it from standard input')
    .option('--name <name>', 'name of the caller, as the agent sees it', 'cli')
    .option('--well-known <file>', 'file with agents and their URLs (well-known-agents.json)')
    .option('--data <json>', 'JSON object to send with the message')
    .option('--metadata <name=value...>', 'metadata of the message')
    .option('--timeout <minutes>', 'cancel the task after this time', positiveNumber, 5)
    .option('--answer <text...>', 'answers to questions of the agent, in order')
    .option('--json', 'print the result as JSON')
    .addOption(logLevelOption('warn'))
    .addHelpText(
      'after',
      `
Progress and questions go to standard error, the result to standard output. Questions are answered
from --answer first, then line by line from standard input.

Exit codes: 0 completed, 1 failed, rejected, canceled or unanswered question, 2 invalid usage,
3 unreachable, 4 authorization required, 5 timed out.

Examples:
  legate call researcher research "How do bees find flowers?" --bus-url amqp://localhost
  legate call https://agents.example.com echo hello --json
  legate call bob negotiate-meeting "Half an hour" --data '{"minutes": 30}' --answer no yes`,
    )
    .action(async (agent: string, skill: string, message: string, options: CallCommandOptions) => {
      const { call } = await import('../call.ts');
      await call(agent, skill, message, options);
    });
}
