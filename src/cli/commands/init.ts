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
    .argument('[folder]', 'where to make it; made when it is missing', '.')
    .addOption(
      new Option(
        '-k, --kind <kind>',
        'assistant (flows), agent (code), worker (code, on the bus)',
      ).choices(projectKinds),
    )
    .option('-n, --name <name>', 'what it is called')
    .option('-d, --description <text>', 'what it does, in one sentence')
    .option('-y, --yes', 'ask nothing: take what is usual for what is not given')
    .option('--force', 'replace files that are there')
    .addHelpText(
      'after',
      `
On a terminal it asks for what the flags do not say; elsewhere it takes what is usual.

Examples:
  legate init
  legate init my-assistant --kind assistant --yes
  legate init translator -k agent -d "Translates whatever it is sent."`,
    )
    .action(async (folder: string, options: InitCommandOptions) => {
      const { init } = await import('../init/init.ts');
      await init(folder, options);
    });
}
