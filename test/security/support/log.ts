import type { Logger } from '../../../src/telemetry/index.ts';

export interface LogLine extends Readonly<Record<string, unknown>> {
  readonly event: string;
  readonly level: string;
}

/** Keeps what is logged. */
export class MemoryLog implements Logger {
  readonly lines: LogLine[] = [];
  readonly #bindings: Readonly<Record<string, unknown>>;

  constructor(lines: LogLine[] = [], bindings: Readonly<Record<string, unknown>> = {}) {
    this.lines = lines;
    this.#bindings = bindings;
  }

  debug(fields: Readonly<Record<string, unknown>>, event: string): void {
    this.#note('debug', fields, event);
  }

  info(fields: Readonly<Record<string, unknown>>, event: string): void {
    this.#note('info', fields, event);
  }

  warn(fields: Readonly<Record<string, unknown>>, event: string): void {
    this.#note('warn', fields, event);
  }

  error(fields: Readonly<Record<string, unknown>>, event: string): void {
    this.#note('error', fields, event);
  }

  child(bindings: Readonly<Record<string, unknown>>): Logger {
    return new MemoryLog(this.lines, { ...this.#bindings, ...bindings });
  }

  audited(kind: 'denied' | 'action'): LogLine[] {
    return this.lines.filter(({ audit }) => audit === kind);
  }

  /** Everything, with errors in full. */
  text(): string {
    return JSON.stringify(this.lines, (_key, value: unknown) =>
      value instanceof Error
        ? [Object.entries(value), String(value), value.stack, value.cause]
        : value,
    );
  }

  #note(level: string, fields: Readonly<Record<string, unknown>>, event: string): void {
    this.lines.push({ ...this.#bindings, ...fields, level, event });
  }
}
