import type { Logger } from './logger.ts';

export interface LoggerOptions {
  /** @default 'info' */
  readonly level?: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** Where lines go; one JSON object each. @default standard error */
  readonly write?: (line: string) => void;
}

/** Names of fields whose values never reach a log, at any of the first three levels. */
const secretNames = [
  'authorization',
  'cookie',
  'token',
  'apiKey',
  'api_key',
  'password',
  'secret',
  'credentials',
  'clientSecret',
  'client_secret',
];

/** A pino logger: JSON lines on standard error, secrets blotted out. Loads pino when called. */
export async function createLogger(options: LoggerOptions = {}): Promise<Logger> {
  const { pino } = await import('pino');
  const paths = secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);
  const destination = options.write === undefined ? pino.destination(2) : { write: options.write };
  const logger: Logger = pino(
    {
      level: options.level ?? 'info',
      redact: { paths, censor: '[redacted]' },
      base: null,
      messageKey: 'event',
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { error: pino.stdSerializers.err, cause: pino.stdSerializers.err },
    },
    destination,
  );
  return logger;
}
