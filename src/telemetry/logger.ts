import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire } from 'node:module';
import { styleText } from 'node:util';
import { trace } from '@opentelemetry/api';
import { checkOptions, type ObjectWithMethods, type OptionNames } from '../protocol/index.ts';
import { redact } from './redact.ts';

const require = createRequire(import.meta.url);

type Fields = Readonly<Record<string, unknown>>;

/**
 * The interface of loggers that Legate uses; loggers of pino implement it. Never pass a secret.
 * @example
 * const logger: Logger = {
 *   debug() {},
 *   info: (fields, event) => console.log(event, fields),
 *   warn: (fields, event) => console.warn(event, fields),
 *   error: (fields, event) => console.error(event, fields),
 *   child: () => logger,
 * };
 */
export interface Logger {
  debug(fields: Readonly<Record<string, unknown>>, event: string): void;
  info(fields: Readonly<Record<string, unknown>>, event: string): void;
  warn(fields: Readonly<Record<string, unknown>>, event: string): void;
  error(fields: Readonly<Record<string, unknown>>, event: string): void;
  child(bindings: Readonly<Record<string, unknown>>): Logger;
}

/** The check of options that take a logger. `console` is none: it has no `child`. */
export const loggerOption: ObjectWithMethods = {
  methods: ['debug', 'info', 'warn', 'error', 'child'],
  example: "a logger: createLogger({ level: 'info' }), silentLogger, or one of pino",
};

/**
 * Logs nothing.
 * @example await serve(greeter, { logger: silentLogger });
 */
export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLogger,
};

/** Fields that are added to every line of a scope. */
type LogFields = Readonly<Record<string, string | number>>;

const scopes = new AsyncLocalStorage<LogFields>();
const noFields: LogFields = {};

/**
 * Runs work in a scope: every logger of this module adds the fields to its lines.
 * @example inLogScope({ turnId: 'a.1' }, () => logger.info({}, 'started'));
 */
export function inLogScope<T>(fields: LogFields, work: () => T): T {
  return scopes.run(fields, work);
}

/** The fields of the current scope, and the id of the current trace. */
function logScope(): LogFields {
  const fields = scopes.getStore() ?? noFields;
  const traceId = trace.getActiveSpan()?.spanContext().traceId;
  return traceId === undefined ? fields : { ...fields, traceId };
}

const levels = ['debug', 'info', 'warn', 'error'] as const;
type Level = (typeof levels)[number];

const colours: Readonly<Record<string, Parameters<typeof styleText>[0]>> = {
  debug: 'gray',
  info: 'green',
  warn: 'yellow',
  error: 'red',
};

/**
 * A line for people: `12:30:01 warn  project.warning: data/flows.yml:3:5 ... key=value`, with the stack of an
 * error below. The field `problem` or `reason` follows the event as text.
 */
function prettyLine(line: Fields, stream: NodeJS.WriteStream): string {
  const { level = '', time = '', event = '', error, ...others } = line;
  const { sentence, rest } = sentenceOf(others);
  const stack =
    typeof error === 'object' && error !== null && 'stack' in error ? String(error.stack) : '';
  const fields = { ...rest, ...(stack === '' && error !== undefined && { error }) };
  const shown = Object.entries(fields).map(([key, value]) =>
    withoutControls(` ${key}=${JSON.stringify(value)}`),
  );
  const clock = new Date(String(time)).toTimeString().slice(0, 8);
  const name = String(level);
  const title = styleText(colours[name] ?? 'gray', name.padEnd(5), { stream });
  const head = `${styleText('gray', clock, { stream })} ${title} ${String(event)}${sentence}`;
  return `${head}${shown.join('')}\n${stack === '' ? '' : `${stackLines(stack)}\n`}`;
}

/**
 * A stack for people. Its message can come from a client: its lines after the first are indented, so that
 * none looks like a line of the log.
 */
function stackLines(stack: string): string {
  const lines = withoutControls(stack).split('\n');
  return lines
    .map((line, index) => (index === 0 || /^\s/.test(line) ? line : `    ${line}`))
    .join('\n');
}

/** Replaces control characters, which a terminal would interpret, except line feeds and tabs. */
function withoutControls(text: string): string {
  return text.replace(/(?![\n\t])\p{Cc}/gu, '\uFFFD');
}

function sentenceOf(fields: Fields): { readonly sentence: string; readonly rest: Fields } {
  for (const key of ['problem', 'reason']) {
    const { [key]: text, ...rest } = fields;
    // A terminal would interpret control characters.
    if (typeof text === 'string' && !/\p{Cc}/u.test(text)) return { sentence: `: ${text}`, rest };
  }
  return { sentence: '', rest: fields };
}

/**
 * The logger of programs that configure none: writes warnings and errors to standard error, as lines for
 * people, without secrets. `LOG_LEVEL` sets another level (`debug`, `info`, `warn`, `error`, `silent`);
 * `logger: silentLogger` turns it off in code. It needs no library.
 */
export const defaultLogger: Logger = plainLogger({});

function plainLogger(bound: Fields): Logger {
  const log = (level: Level) => (fields: Fields, event: string) => {
    if (!isEnabled(level)) return;
    const time = new Date().toISOString();
    const line = { level, time, event, ...logScope(), ...redact({ ...bound, ...fields }) };
    process.stderr.write(prettyLine(line, process.stderr));
  };
  return {
    debug: log('debug'),
    info: log('info'),
    warn: log('warn'),
    error: log('error'),
    child: (bindings) => plainLogger({ ...bound, ...bindings }),
  };
}

/** The lowest level that is logged, read once from the environment: reading it for each line is slow. */
let least: number | undefined;

function isEnabled(level: Level): boolean {
  least ??= leastLevel(process.env['LOG_LEVEL']?.toLowerCase());
  return levels.indexOf(level) >= least;
}

/** The index of the lowest level that is logged. */
function leastLevel(named: string | undefined): number {
  if (named === 'silent') return levels.length;
  const known = levels.findIndex((level) => level === named);
  return known < 0 ? levels.indexOf('warn') : known;
}

/**
 * The level, format and destination of log lines.
 * @example
 * const lines: string[] = [];
 * const options: LoggerOptions = { level: 'warn', write: (line) => lines.push(line) };
 */
export interface LoggerOptions {
  /** The lowest level that is logged. @default 'info' */
  readonly level?: Level | 'silent';
  /** One JSON object a line, or a line for people; `auto` is pretty on a terminal. @default 'json' */
  readonly format?: 'json' | 'pretty' | 'auto';
  /** Destination of log lines. @default standard error */
  readonly write?: (line: string) => void;
}

const optionNames: OptionNames<LoggerOptions> = {
  level: [...levels, 'silent'],
  format: ['json', 'pretty', 'auto'],
  write: 'function',
};

/**
 * A pino logger on standard error: secrets are redacted, and every line of a turn has its id.
 * Loads pino when called.
 * @example
 * const logger = createLogger({ level: 'debug', format: 'auto' });
 * await serve(agent, { logger });
 */
export function createLogger(options: LoggerOptions = {}): Logger {
  checkOptions('createLogger', options, optionNames);
  const { pino }: typeof import('pino') = require('pino');
  const { level = 'info', format = 'json', write } = options;
  const isPretty = format === 'pretty' || (format === 'auto' && process.stderr.isTTY);
  const plain = write ?? ((line: string) => void process.stderr.write(line));
  const destination = isPretty
    ? { write: (line: string) => plain(prettyLine(JSON.parse(line), process.stderr)) }
    : write === undefined
      ? pino.destination({ fd: 2, sync: true })
      : { write };
  const logger = pino(
    {
      level,
      base: null,
      messageKey: 'event',
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      // Leaves out fields of the scope that the logger already has.
      mixin(_fields, _level, self) {
        const bound = self.bindings();
        const scope = Object.entries(logScope());
        return Object.fromEntries(scope.filter(([name]) => bound[name] === undefined));
      },
      formatters: { level: (label) => ({ level: label }), log: redact },
    },
    destination,
  );
  return redactingLogger(logger);
}

/** Redacts the bindings of child loggers, because pino writes them unchanged. */
function redactingLogger(logger: Logger): Logger {
  return {
    debug: (fields, event) => logger.debug(fields, event),
    info: (fields, event) => logger.info(fields, event),
    warn: (fields, event) => logger.warn(fields, event),
    error: (fields, event) => logger.error(fields, event),
    child: (bindings) => redactingLogger(logger.child(redact(bindings))),
  };
}
