import { pino } from 'pino';
import { type Logger, loggerSettings, prettyLine, redactingLogger } from '../telemetry/index.ts';
import type { LogLevel } from './commands/options.ts';
import { usage } from './usage.ts';

/**
 * Logs to standard error: as text on a terminal, else as one JSON object a line; `LOG_FORMAT`
 * overrides this.
 */
export function createLogger(level: LogLevel): Logger {
  const { stderr, env } = process;
  const format = env['LOG_FORMAT'] || (stderr.isTTY ? 'pretty' : 'json');
  if (format !== 'pretty' && format !== 'json') {
    throw usage('LOG_FORMAT must be "json" or "pretty"');
  }
  const destination =
    format === 'pretty'
      ? { write: (line: string) => void stderr.write(prettyLine(JSON.parse(line), stderr)) }
      : pino.destination({ fd: 2, sync: true });
  return redactingLogger(pino(loggerSettings(level), destination));
}
