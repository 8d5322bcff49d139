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
  legate push list --state dead               dead deliveries with their reasons
  legate push list --task 01a1… --json        deliveries of one task
  legate push retry 17 18                     retry two deliveries
  legate push retry --all --store my/store.db retry all of another store`,
    )
    .addCommand(listCommand())
    .addCommand(retryCommand());
}

function listCommand(): Command {
  return new Command('list')
    .description('list pending deliveries, and dead ones that ran out of attempts')
    .addOption(storeOption())
    .addOption(
      new Option('--state <state>', 'filter by state').choices(['pending', 'dead'] as const),
    )
    .option('--task <id>', 'filter by task')
    .option('--after <id>', 'only deliveries after this id', wholeNumber)
    .option('--limit <count>', 'maximum number to list', wholeNumber, 100)
    .option('--json', 'print one JSON object per line')
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
    .description('retry dead deliveries; a running server, or the next one to start, sends them')
    .argument('[ids...]', 'ids of dead deliveries, as printed by list', collectNumbers)
    .addOption(storeOption())
    .option('--all', 'retry all dead deliveries')
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
  return new Option('--store <store>', 'SQLite file or PostgreSQL URL of the store')
    .default('.legate/store.db')
    .env('LEGATE_STORE');
}

function wholeNumber(text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 0 && text.trim() !== '') return number;
  throw new InvalidArgumentError('Must be a non-negative integer.');
}

function collectNumbers(text: string, before: readonly number[] = []): readonly number[] {
  return [...before, wholeNumber(text)];
}
