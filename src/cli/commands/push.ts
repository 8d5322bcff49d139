import { Command, InvalidArgumentError, Option } from 'commander';

/** Which deliveries, and of which store. */
export interface PushListOptions {
  readonly store: string;
  readonly state?: 'dead' | 'pending';
  readonly task?: string;
  readonly after?: number;
  readonly limit: number;
  readonly json?: boolean;
}

export interface PushRetryOptions {
  readonly store: string;
  readonly all?: boolean;
}

export function pushCommand(): Command {
  return new Command('push')
    .addHelpText(
      'after',
      `
Examples:
  legate push list --state dead               what was given up, and why
  legate push list --task 01a1… --json        what is owed to the webhooks of one task
  legate push retry 17 18                     two deliveries again
  legate push retry --all --store my/store.db all dead ones of another store`,
    )
    .addCommand(listCommand())
    .addCommand(retryCommand());
}

function listCommand(): Command {
  return new Command('list')
    .description('show deliveries: pending ones wait for their turn, dead ones were given up')
    .addOption(storeOption())
    .addOption(new Option('--state <state>', 'only these').choices(['pending', 'dead'] as const))
    .option('--task <id>', 'only those of one task')
    .option('--after <id>', 'only those after this delivery', wholeNumber)
    .option('--limit <count>', 'at most so many', wholeNumber, 100)
    .option('--json', 'one JSON object a line')
    .addHelpText(
      'after',
      `
Examples:
  legate push list --state dead
  legate push list --task 01a1… --json`,
    )
    .action(async (options: PushListOptions) => {
      const { listDeliveries } = await import('../push.ts');
      await listDeliveries(options);
    });
}

function retryCommand(): Command {
  return new Command('retry')
    .description(
      'give dead deliveries another round of attempts, by a server that runs or the next one',
    )
    .argument('[ids...]', 'numbers of dead deliveries, as shown by list', collectNumbers)
    .addOption(storeOption())
    .option('--all', 'all dead deliveries')
    .addHelpText(
      'after',
      `
Examples:
  legate push retry 17 18
  legate push retry --all --store my/store.db`,
    )
    .action(async (ids: readonly number[], options: PushRetryOptions) => {
      const { retryDeliveries } = await import('../push.ts');
      await retryDeliveries(ids, options);
    });
}

function storeOption(): Option {
  return new Option('--store <place>', 'file of the store, or address of its PostgreSQL database')
    .default('.legate/store.db')
    .env('LEGATE_STORE');
}

function wholeNumber(text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 0 && text.trim() !== '') return number;
  throw new InvalidArgumentError('It must be a whole number.');
}

function collectNumbers(text: string, before: readonly number[] = []): readonly number[] {
  return [...before, wholeNumber(text)];
}
