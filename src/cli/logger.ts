import { createLogger as openLogger, type Logger } from '../telemetry/index.ts';
import type { LogLevel } from './commands/options.ts';
import { usage } from './usage.ts';

/**
 * Logs to standard error: as text on a terminal, else as one JSON object a line; `LOG_FORMAT`
 * overrides this.
 */
export function createLogger(level: LogLevel): Logger {
  const format = process.env['LOG_FORMAT'] || undefined;
  if (format !== undefined && format !== 'pretty' && format !== 'json') {
    throw usage('LOG_FORMAT must be "json" or "pretty"');
  }
  return openLogger({ level, format: format ?? 'auto' });
}
