import { Command } from 'commander';
import { type PlaceOptions, withPlaces } from './options.ts';

export interface ValidateCommandOptions extends PlaceOptions {
  readonly json?: boolean;
  readonly failOnWarnings?: boolean;
}

export function validateCommand(): Command {
  return withPlaces(new Command('validate'))
    .option('--fail-on-warnings', 'treat warnings as errors')
    .option('--json', 'print a JSON list')
    .addHelpText(
      'after',
      `
Each line reads  file:line:column path: problem; fix
Exits with 1 if there are errors.

Examples:
  legate validate
  legate validate examples/bank --json`,
    )
    .action(async (directory: string, options: ValidateCommandOptions) => {
      const { validateProject } = await import('../validate.ts');
      await validateProject(directory, options);
    });
}
