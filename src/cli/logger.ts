import { pino } from 'pino';
import { type Logger, loggerSettings, prettyLine, safeLogger } from '../telemetry/index.ts';
import type { LogLevel } from './commands/options.ts';
import { usage } from './usage.ts';

/**
 * Logs to standard error: for people on a terminal, as one JSON object a line elsewhere, and as
 * `LOG_FORMAT` says where it says anything.
 */
export function createLogger(level: LogLevel): Logger {
  const { stderr, env } = process;
  const format = env['LOG_FORMAT'] || (stderr.isTTY ? 'pretty' : 'json');
  if (format !== 'pretty' && format !== 'json') {
    throw usage('LOG_FORMAT must be "json" or "pretty"');
  }
  const destination =
    format === 'pretty'
      ? { write: (line: string) => void stderr.write(prettyLine(line, stderr)) }
      : pino.destination({ fd: 2, sync: true });
  return safeLogger(pino(loggerSettings(level), destination));
}
