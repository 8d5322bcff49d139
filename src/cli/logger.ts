import { pino } from 'pino';
import { type Logger, loggerSettings, prettyLine, safeLogger } from '../telemetry/index.ts';
import type { LogLevel } from './commands/options.ts';

/** Logs to standard error: for people on a terminal, as one JSON object a line elsewhere. */
export function createLogger(level: LogLevel): Logger {
  const { stderr } = process;
  const destination = stderr.isTTY
    ? { write: (line: string) => void stderr.write(prettyLine(line, stderr)) }
    : pino.destination({ fd: 2, sync: true });
  return safeLogger(pino(loggerSettings(level), destination));
}
