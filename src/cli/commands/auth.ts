import { Command, Option } from 'commander';
import {
  type ClientCommandOptions,
  clientNotes,
  collect,
  option,
  withClient,
} from './client-options.ts';
import { readPort } from './options.ts';

export const loginFlows = ['device-code', 'authorization-code', 'client-credentials'] as const;
export type LoginFlow = (typeof loginFlows)[number];

export interface LoginCommandOptions extends ClientCommandOptions {
  readonly flow?: LoginFlow;
  readonly clientId?: string;
  readonly scope?: readonly string[];
  readonly redirectPort?: number;
}

export function authCommand(): Command {
  return new Command('auth')
    .addCommand(loginCommand())
    .addCommand(logoutCommand())
    .addHelpText(
      'after',
      `
Examples:
  legate auth login agent.example --client-id my-app
  legate auth logout agent.example`,
    );
}

function loginCommand(): Command {
  const command = new Command('login')
    .description('get a token from the authority of an agent, for the calls to come')
    .argument('[agent]', 'the agent, where no flag names it')
    .addOption(
      new Option('--flow <flow>', 'how (default: the first that the card declares)').choices(
        loginFlows,
      ),
    )
    .addOption(
      new Option('--client-id <id>', 'who this program is to the authority').env(
        'A2ACLI_CLIENT_ID',
      ),
    )
    .addOption(
      option('--scope <scope>', 'what to ask for; repeatable', "the card's").argParser(collect),
    )
    .addOption(
      option(
        '--redirect-port <port>',
        'of this machine, where the browser comes back to with an authorization code',
        'any that is free',
      ).argParser(readPort),
    )
    .addHelpText(
      'after',
      `${clientNotes}
An authority that speaks OpenID Connect is asked where it does what. A device code is confirmed in any
browser; for an authorization code a browser of this machine comes back here (PKCE). The secret of a client comes from A2ACLI_CLIENT_SECRET. Tokens are kept in ~/.config/a2a-cli/tokens.json,
which only you can read, and are sent to the agent they are for and to no other.

Examples:
  legate auth login agent.example --client-id my-app
  legate auth login agent.example --client-id my-app --flow authorization-code --scope openid
  A2ACLI_CLIENT_SECRET=… legate auth login -a agent.example --flow client-credentials --client-id ci`,
    );
  return withClient(command).action(
    async (agent: string | undefined, options: LoginCommandOptions) => {
      const { login } = await import('../client/auth.ts');
      await login(agent === undefined ? [] : [agent], options);
    },
  );
}

function logoutCommand(): Command {
  const command = new Command('logout')
    .description('forget the token for an agent')
    .argument('[agent]', 'the agent, where no flag names it')
    .addHelpText('after', `${clientNotes}\n\nExample:\n  legate auth logout agent.example`);
  return withClient(command).action(
    async (agent: string | undefined, options: ClientCommandOptions) => {
      const { logout } = await import('../client/auth.ts');
      await logout(agent === undefined ? [] : [agent], options);
    },
  );
}
