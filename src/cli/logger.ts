import { styleText } from 'node:util';
import { createLogger as openLogger, type Logger } from '../telemetry/index.ts';
import { plain } from './client/text.ts';
import type { LogLevel } from './commands/options.ts';
import { usage } from './usage.ts';

/**
 * Logs to standard error: as text on a terminal, else as one JSON object a line; `LOG_FORMAT`
 * overrides this.
 */
export function createLogger(level: LogLevel): Logger {
  return openLogger({ level, format: formatOf() });
}

/** The logger of a server. As text, at the level `warn` or lower, it also prints a line for each turn. */
export function createServerLogger(level: LogLevel): Logger {
  const logger = createLogger(level);
  const format = formatOf();
  const isText = format === 'pretty' || (format === 'auto' && process.stderr.isTTY);
  const isShown = level !== 'error' && level !== 'silent';
  return isText && isShown ? withRequestLog(logger) : logger;
}

function formatOf(): 'auto' | 'pretty' | 'json' {
  const format = process.env['LOG_FORMAT'] || 'auto';
  if (format === 'auto' || format === 'pretty' || format === 'json') return format;
  throw usage('LOG_FORMAT must be "json" or "pretty"');
}

function withRequestLog(inner: Logger): Logger {
  return {
    ...inner,
    info: (fields, event) => {
      if (event === 'turn.ended') process.stderr.write(`${turnLine(fields)}\n`);
      else inner.info(fields, event);
    },
    child: (bindings) => withRequestLog(inner.child(bindings)),
  };
}

const colours: Readonly<Record<string, Parameters<typeof styleText>[0]>> = {
  completed: 'green',
  failed: 'red',
  lost: 'red',
  rejected: 'red',
};

/** `12:30:01 anonymous   message     input-required  12 ms  context 01a1…`: who, what, state, time. */
function turnLine(fields: Readonly<Record<string, unknown>>): string {
  const stream = process.stderr;
  const word = (name: string, width = 0): string => plain(String(fields[name])).padEnd(width);
  const clock = new Date().toTimeString().slice(0, 8);
  const state = styleText(colours[String(fields['state'])] ?? 'yellow', word('state', 14), {
    stream,
  });
  const took = `${String(Math.round(Number(fields['durationMs'])))} ms`.padStart(8);
  const line = `${word('caller', 12)} ${word('what', 10)} ${state} ${took}`;
  const context = styleText('gray', `context ${word('contextId')}`, { stream });
  return `${styleText('gray', clock, { stream })} ${line}  ${context}`;
}
