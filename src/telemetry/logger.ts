/**
 * What Legate asks of a logger; pino's loggers fit. Never pass a secret.
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

/**
 * Says nothing.
 * @example await serve(greeter, { logger: silentLogger });
 */
export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLogger,
};
