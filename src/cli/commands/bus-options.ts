import { type Command, InvalidArgumentError, Option } from 'commander';

/** Which bus, and where more is said about it. */
export interface BusPlaceOptions {
  readonly busUrl?: string;
  readonly endpoints?: string;
}

export function withBus(command: Command): Command {
  return command
    .option(
      '--bus-url <url>',
      'address of RabbitMQ, instead of bus: in endpoints.yml (or else AMQP_URL)',
    )
    .option(
      '--endpoints <file>',
      'file with the sections bus: and store:, instead of endpoints.yml',
    );
}

export function storeOption(standard?: string): Option {
  const option = new Option(
    '--store <place>',
    'file of the store, or address of its PostgreSQL database',
  ).env('LEGATE_STORE');
  return standard === undefined ? option : option.default(standard);
}

export function count(text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number > 0) return number;
  throw new InvalidArgumentError('It must be a whole number, 1 or more.');
}

export function positiveNumber(text: string): number {
  const number = Number(text);
  if (Number.isFinite(number) && number > 0) return number;
  throw new InvalidArgumentError('It must be a number above 0.');
}
