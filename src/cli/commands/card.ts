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
"legate card <agent>" is short for "legate card get <agent>".

Examples:
  legate card http://localhost:8000
  legate card get --validate --json agent.example`,
  );
}

function cardGetCommand(): Command {
  const command = new Command('get')
    .description('fetch the card of an agent and print it')
    .argument('[agent]', 'the agent, unless --agent-card names it')
    .option('--validate', 'validate the card; exit with 1 if it is invalid')
    .option('--extended', 'fetch the extended card for authenticated callers')
    .addOption(lineOption())
    .option('--trusted-keys <file>', 'JWKS file; fail unless one of its keys signed the card')
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
