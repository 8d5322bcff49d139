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
    .description(
      'get a token from the authorization server of an agent and store it for later calls',
    )
    .argument('[agent]', 'the agent, unless --agent-card names it')
    .addOption(
      new Option(
        '--flow <flow>',
        'OAuth flow (default: the first one that the card declares)',
      ).choices(loginFlows),
    )
    .addOption(new Option('--client-id <id>', 'OAuth client id').env('A2ACLI_CLIENT_ID'))
    .addOption(
      option('--scope <scope>', 'scope to request; repeatable', "the card's scopes").argParser(
        collect,
      ),
    )
    .addOption(
      option(
        '--redirect-port <port>',
        'local port for the redirect of the authorization code flow',
        'any free port',
      ).argParser(readPort),
    )
    .addHelpText(
      'after',
      `${clientNotes}
Endpoints of OpenID Connect providers are discovered. Confirm a device code in any browser; the
authorization code flow (PKCE) needs a browser on this machine. Set A2ACLI_CLIENT_SECRET if the client
has a secret. Tokens are stored in ~/.config/a2a-cli/tokens.json, readable by you only, and sent only
to the agent they were issued for.

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
    .description('delete the stored token for an agent')
    .argument('[agent]', 'the agent, unless --agent-card names it')
    .addHelpText('after', `${clientNotes}\n\nExample:\n  legate auth logout agent.example`);
  return withClient(command).action(
    async (agent: string | undefined, options: ClientCommandOptions) => {
      const { logout } = await import('../client/auth.ts');
      await logout(agent === undefined ? [] : [agent], options);
    },
  );
}
