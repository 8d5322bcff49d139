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
    .argument('<agent>', 'its name on the bus, its address (https://...), or a well-known agent')
    .argument('<skill>', 'the id of one of its skills')
    .argument('<message>', 'what to tell it; - reads standard input')
    .option('--name <name>', 'our own name, by which the agent knows us', 'cli')
    .option('--well-known <file>', 'agents with their addresses (well-known-agents.json)')
    .option('--data <json>', 'a JSON object to send beside the words')
    .option('--metadata <name=value...>', 'to send with the message')
    .option('--timeout <minutes>', 'how long it may take; then it is cancelled', positiveNumber, 5)
    .option('--answer <text...>', 'answers to what the agent asks, one after the other')
    .option('--json', 'the outcome as JSON')
    .addOption(logLevelOption('warn'))
    .addHelpText(
      'after',
      `
What the agent says on its way and what it asks goes to standard error, the result to standard
output. Questions are answered by --answer, and then line by line from standard input.

Exit codes: 0 completed, 1 failed, rejected, cancelled, or a question that nobody answers, 2 wrong
usage, 3 not reachable, 4 it asks for authorization, 5 not in time.

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
