import { Command } from 'commander';

export interface ConfigCommandOptions {
  readonly config?: string;
  readonly json?: boolean;
}

export function configCommand(): Command {
  return new Command('config')
    .addCommand(
      new Command('show')
        .description('show what the environment and .env files set, and where; changes nothing')
        .option('--config <file>', 'instead of the nearest .env file')
        .option('--json', 'as JSON')
        .addHelpText(
          'after',
          `
Flags come first, then the environment, then the nearest .env file upwards from here (or the one of
--config), then ~/.config/a2a-cli/.env, then the defaults. Credentials are not shown.

Example:
  A2ACLI_AGENT_CARD=agent.example legate config show`,
        )
        .action(async (options: ConfigCommandOptions) => {
          const { showConfig } = await import('../client/config.ts');
          showConfig(options);
        }),
    )
    .addHelpText('after', '\nExample:\n  legate config show');
}
