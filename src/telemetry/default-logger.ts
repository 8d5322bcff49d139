import { logScope } from './log-scope.ts';
import type { Logger } from './logger.ts';
import { prettyLine } from './pretty-line.ts';
import { redact } from './redact.ts';

const levels = ['debug', 'info', 'warn', 'error'] as const;
type Level = (typeof levels)[number];

/**
 * What programs get that name no logger: warnings and errors on standard error, a line for people
 * each, without secrets. `LOG_LEVEL` chooses another level (`debug`, `info`, `warn`, `error`,
 * `silent`); `logger: silentLogger` turns it off in code.
 */
export const defaultLogger: Logger = loggerOf({});

function loggerOf(bound: Readonly<Record<string, unknown>>): Logger {
  const log = (level: Level) => (fields: Readonly<Record<string, unknown>>, event: string) => {
    if (!isWanted(level)) return;
    const time = new Date().toISOString();
    const line = { level, time, event, ...logScope(), ...redact({ ...bound, ...fields }) };
    process.stderr.write(prettyLine(JSON.stringify(line), process.stderr));
  };
  return {
    debug: log('debug'),
    info: log('info'),
    warn: log('warn'),
    error: log('error'),
    child: (bindings) => loggerOf({ ...bound, ...bindings }),
  };
}

function isWanted(level: Level): boolean {
  const least = process.env['LOG_LEVEL']?.toLowerCase() ?? 'warn';
  if (least === 'silent') return false;
  const known = levels.indexOf(least as Level);
  return levels.indexOf(level) >= (known < 0 ? levels.indexOf('warn') : known);
}
