import { Command } from 'commander';
import { type PlaceOptions, withPlaces } from './options.ts';

export interface TrainCommandOptions extends PlaceOptions {
  readonly out?: string;
  readonly fixedModelName?: string;
  readonly failOnValidationWarnings?: boolean;
}

export function trainCommand(): Command {
  return withPlaces(new Command('train'))
    .option('--out <folder>', 'folder for the packed model (default: models/ in the project)')
    .option('--fixed-model-name <name>', 'file name (default: contains the time)')
    .option('--fail-on-validation-warnings', 'treat warnings as errors')
    .addHelpText(
      'after',
      `
Prints the path of the model to standard output.

Examples:
  legate train                      models/<time>-<name>.tar.gz
  legate train --out /srv/models --fixed-model-name bank`,
    )
    .action(async (directory: string, options: TrainCommandOptions) => {
      const { train } = await import('../train.ts');
      await train(directory, options);
    });
}
