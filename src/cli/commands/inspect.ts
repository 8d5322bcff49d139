import { Command } from 'commander';
import { type ClientCommandOptions, withClient } from './client-options.ts';
import {
  type InspectTokenOptions,
  inspectTokenOption,
  type LogLevel,
  logLevelOption,
  portOption,
} from './options.ts';

export interface InspectCommandOptions extends ClientCommandOptions, InspectTokenOptions {
  readonly port: number;
  readonly open: boolean;
  readonly logLevel: LogLevel;
}

export function inspectCommand(): Command {
  const command = new Command('inspect')
    .argument('[agent]', 'assistant folder, module that exports an agent, or URL', '.')
    .addOption(portOption(5005))
    .addOption(inspectTokenOption())
    .option('--no-open', 'do not open a browser')
    .addOption(logLevelOption('warn'))
    .addHelpText(
      'after',
      `
For a URL, this process calls the agent and keeps the conversation until it stops; the connection
options apply to URLs only. The inspector needs the token in the printed link.

Examples:
  legate inspect                       the assistant in this folder
  legate inspect agent.ts              an agent in code
  legate inspect http://localhost:8000 any agent that speaks A2A`,
    );
  return withClient(command).action(async (agent: string, options: InspectCommandOptions) => {
    const { inspect } = await import('../inspect.ts');
    await inspect(agent, options);
  });
}
