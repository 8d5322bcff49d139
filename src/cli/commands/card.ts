import { Command } from 'commander';
import {
  type ClientCommandOptions,
  clientNotes,
  lineOption,
  withClient,
} from './client-options.ts';

export interface CardCommandOptions extends ClientCommandOptions {
  readonly validate?: boolean;
  readonly extended?: boolean;
  readonly trustedKeys?: string;
  readonly stream?: boolean;
}

export function cardCommand(): Command {
  return new Command('card').addCommand(cardGetCommand(), { isDefault: true }).addHelpText(
    'after',
    `
"legate card <agent>" is "legate card get <agent>".

Examples:
  legate card http://localhost:8000
  legate card get --validate --json agent.example`,
  );
}

function cardGetCommand(): Command {
  const command = new Command('get')
    .description('fetch the card of an agent and show it')
    .argument('[agent]', 'the agent, where no flag names it')
    .option('--validate', 'check the card; the exit code is 1 when it is wrong')
    .option('--extended', 'the card for authenticated callers')
    .addOption(lineOption())
    .option('--trusted-keys <file>', 'JSON web keys that the signature must be made with')
    .addHelpText(
      'after',
      `${clientNotes}

Examples:
  legate card http://localhost:8000
  legate card get -a ./card.json --validate
  A2ACLI_BEARER=… legate card get --extended --json agent.example
  legate card get agent.example --trusted-keys keys.json`,
    );
  return withClient(command).action(
    async (agent: string | undefined, options: CardCommandOptions) => {
      const { showCard } = await import('../client/card.ts');
      await showCard(agent === undefined ? [] : [agent], options);
    },
  );
}
