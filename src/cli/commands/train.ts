import { Command } from 'commander';
import { type PlaceOptions, withPlaces } from './options.ts';

export interface TrainCommandOptions extends PlaceOptions {
  readonly out?: string;
  readonly fixedModelName?: string;
  readonly failOnValidationWarnings?: boolean;
}

export function trainCommand(): Command {
  return withPlaces(new Command('train'))
    .option('--out <folder>', 'where the packed model goes (default: models/ of the project)')
    .option('--fixed-model-name <name>', 'instead of a name with the time')
    .option('--fail-on-validation-warnings', 'take warnings for errors')
    .addHelpText(
      'after',
      `
The path of the model is all that is printed to standard output.

Examples:
  legate train                      models/<time>-<name>.tar.gz
  legate train --out /srv/models --fixed-model-name bank`,
    )
    .action(async (directory: string, options: TrainCommandOptions) => {
      const { train } = await import('../train.ts');
      await train(directory, options);
    });
}
