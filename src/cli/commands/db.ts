import { Command } from 'commander';

/** `legate db`: the schema of a PostgreSQL database. */
export function dbCommand(): Command {
  return new Command('db')
    .addCommand(
      new Command('status')
        .description('print the current and the required schema version')
        .argument('[url]', 'PostgreSQL URL (default: DATABASE_URL)')
        .addHelpText('after', '\nExample:\n  legate db status postgres://localhost/legate')
        .action(async (url: string | undefined) => {
          const { showStatus } = await import('../db.ts');
          await showStatus(url);
        }),
    )
    .addCommand(
      new Command('migrate')
        .description('migrate the schema; safe while replicas start')
        .argument('[url]', 'PostgreSQL URL (default: DATABASE_URL)')
        .addHelpText(
          'after',
          '\nExample:\n  DATABASE_URL=postgres://localhost/legate legate db migrate',
        )
        .action(async (url: string | undefined) => {
          const { migrateDatabase } = await import('../db.ts');
          await migrateDatabase(url);
        }),
    )
    .addHelpText(
      'after',
      `
Examples:
  legate db status postgres://localhost/legate
  DATABASE_URL=postgres://localhost/legate legate db migrate`,
    );
}
