import { Command } from 'commander';
import { portOption, type PlaceOptions, withPlaces } from './options.ts';

export interface DoctorCommandOptions extends PlaceOptions {
  readonly port: number;
  readonly json?: boolean;
}

export function doctorCommand(): Command {
  return withPlaces(new Command('doctor'))
    .addOption(portOption(5005))
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Checks Node, configuration, store, broker, models, port, clock and card, and says how to fix each
problem. Changes nothing. Exits with 1 if it finds an error.

Examples:
  legate doctor
  legate doctor examples/bank --port 8080
  legate doctor --json | jq '.[] | select(.outcome == "wrong")'`,
    )
    .action(async (directory: string, options: DoctorCommandOptions) => {
      const { doctor } = await import('../doctor/doctor.ts');
      await doctor(directory, options);
    });
}
