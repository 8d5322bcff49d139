import { Command } from 'commander';
import { type PlaceOptions, withPlaces } from './options.ts';

export interface ValidateCommandOptions extends PlaceOptions {
  readonly json?: boolean;
  readonly failOnWarnings?: boolean;
}

export function validateCommand(): Command {
  return withPlaces(new Command('validate'))
    .option('--fail-on-warnings', 'take warnings for errors')
    .option('--json', 'as a JSON list')
    .addHelpText(
      'after',
      `
Each line is  file:line:column path: what is wrong; what would be right
The exit code is 1 when there are errors.

Examples:
  legate validate
  legate validate examples/bank --json`,
    )
    .action(async (directory: string, options: ValidateCommandOptions) => {
      const { validateProject } = await import('../validate.ts');
      await validateProject(directory, options);
    });
}
