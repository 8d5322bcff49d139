import type { LoggerOptions as PinoOptions } from 'pino';
import { logScope } from './log-scope.ts';
import type { Logger } from './logger.ts';
import { prettyLine } from './pretty-line.ts';
import { redact } from './redact.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/**
 * What is logged, how, and where to.
 * @example
 * const lines: string[] = [];
 * const options: LoggerOptions = { level: 'warn', write: (line) => lines.push(line) };
 */
export interface LoggerOptions {
  /** The least that is logged. @default 'info' */
  readonly level?: LogLevel;
  /** One JSON object a line, or a line for people; `auto` is pretty on a terminal. @default 'json' */
  readonly format?: 'json' | 'pretty' | 'auto';
  /** Where lines go. @default standard error */
  readonly write?: (line: string) => void;
}

/**
 * A pino logger on standard error: secrets are blotted out, and every line of a turn bears its id.
 * Loads pino when called.
 * @example
 * const logger = await createLogger({ level: 'debug', format: 'auto' });
 * await serve(agent, { logger });
 */
export async function createLogger(options: LoggerOptions = {}): Promise<Logger> {
  const { pino } = await import('pino');
  const { format = 'json', write } = options;
  const isPretty = format === 'pretty' || (format === 'auto' && process.stderr.isTTY);
  const plain = write ?? ((line: string) => void process.stderr.write(line));
  const destination = isPretty
    ? { write: (line: string) => plain(prettyLine(line, process.stderr)) }
    : write === undefined
      ? pino.destination({ fd: 2, sync: true })
      : { write };
  return safeLogger(pino(loggerSettings(options.level), destination));
}

/** How pino is to write lines. */
export function loggerSettings(level: LogLevel = 'info'): PinoOptions {
  return {
    level,
    base: null,
    messageKey: 'event',
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    mixin: (_fields, _level, logger) => withoutBound(logger.bindings()),
    formatters: {
      level: (label) => ({ level: label }),
      log: redact,
    },
  };
}

/** Fields given to a child are written as they are, so they are looked at first. */
export function safeLogger(logger: Logger): Logger {
  return {
    debug: (fields, event) => logger.debug(fields, event),
    info: (fields, event) => logger.info(fields, event),
    warn: (fields, event) => logger.warn(fields, event),
    error: (fields, event) => logger.error(fields, event),
    child: (bindings) => safeLogger(logger.child(redact(bindings))),
  };
}

/** Fields that a line has anyway are not said twice. */
function withoutBound(bound: Readonly<Record<string, unknown>>): object {
  const fields: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(logScope())) {
    if (bound[name] === undefined) fields[name] = value;
  }
  return fields;
}
