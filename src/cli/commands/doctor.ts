import { Command } from 'commander';
import { portOption, type PlaceOptions, withPlaces } from './options.ts';

export interface DoctorCommandOptions extends PlaceOptions {
  readonly port: number;
  readonly json?: boolean;
}

export function doctorCommand(): Command {
  return withPlaces(new Command('doctor'))
    .addOption(portOption(5005))
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      `
Looks at Node, the configuration, the store, the broker, models, the port, the clock and the card, and
says how to mend what is wrong. Nothing is changed. The exit code is 1 when something is wrong.

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
