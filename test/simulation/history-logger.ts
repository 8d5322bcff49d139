import { type Logger, silentLogger } from '../../src/telemetry/index.ts';
import type { History } from './history.ts';

/** What a process logs, as part of the history. */
export function logTo(history: History, who: string): Logger {
  if (!history.isKept) return silentLogger;
  const note =
    (level: string) =>
    (fields: object, message: string): void =>
      history.note(who, () => `${level}: ${message} ${describe(fields)}`);
  const logger: Logger = {
    debug() {},
    info: note('info'),
    warn: note('warn'),
    error: note('error'),
    child: () => logger,
  };
  return logger;
}

function describe(fields: object): string {
  return JSON.stringify(fields, (_key, value: unknown) =>
    value instanceof Error ? value.message : value,
  );
}
