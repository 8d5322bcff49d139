import { Command, Option } from 'commander';

export const projectKinds = ['assistant', 'agent', 'worker'] as const;
export type ProjectKind = (typeof projectKinds)[number];

export interface InitCommandOptions {
  readonly kind?: ProjectKind;
  readonly name?: string;
  readonly description?: string;
  readonly yes?: boolean;
  readonly force?: boolean;
}

export function initCommand(): Command {
  return new Command('init')
    .argument('[folder]', 'folder of the project; created if missing', '.')
    .addOption(
      new Option(
        '-k, --kind <kind>',
        'assistant (YAML flows), agent (code), worker (code, on RabbitMQ)',
      ).choices(projectKinds),
    )
    .option('-n, --name <name>', 'name of the project')
    .option('-d, --description <text>', 'one-sentence description')
    .option('-y, --yes', 'use defaults instead of asking')
    .option('--force', 'overwrite existing files')
    .addHelpText(
      'after',
      `
In a terminal, init asks for what the flags leave out. Otherwise it uses defaults.

Examples:
  legate init
  legate init my-assistant --kind assistant --yes
  legate init translator -k agent -d "Translates text into Latin."`,
    )
    .action(async (folder: string, options: InitCommandOptions) => {
      const { init } = await import('../init/init.ts');
      await init(folder, options);
    });
}
