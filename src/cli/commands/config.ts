import { Command } from 'commander';

export interface ConfigCommandOptions {
  readonly config?: string;
  readonly json?: boolean;
}

export function configCommand(): Command {
  return new Command('config')
    .addCommand(
      new Command('show')
        .description(
          'print the settings from the environment and .env files, and where each comes from',
        )
        .option('--config <file>', '.env file to read (default: the nearest one)')
        .option('--json', 'print JSON')
        .addHelpText(
          'after',
          `
Precedence: flags, environment, the nearest .env file in this or a parent folder (or --config),
~/.config/a2a-cli/.env, defaults. Credentials are not printed.

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
