import { type Command, InvalidArgumentError, Option } from 'commander';

/** Which bus, and where more is said about it. */
export interface BusPlaceOptions {
  readonly busUrl?: string;
  readonly endpoints?: string;
}

export function withBus(command: Command): Command {
  return command
    .option('--bus-url <url>', 'RabbitMQ URL; overrides bus: in endpoints.yml and AMQP_URL')
    .option(
      '--endpoints <file>',
      'file with the sections bus: and store: (default: endpoints.yml)',
    );
}

export function storeOption(standard?: string): Option {
  const option = new Option('--store <store>', 'SQLite file or PostgreSQL URL of the store').env(
    'LEGATE_STORE',
  );
  return standard === undefined ? option : option.default(standard);
}

export function count(text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number > 0) return number;
  throw new InvalidArgumentError('Must be an integer of at least 1.');
}

export function positiveNumber(text: string): number {
  const number = Number(text);
  if (Number.isFinite(number) && number > 0) return number;
  throw new InvalidArgumentError('Must be a number greater than 0.');
}
