import { styleText } from 'node:util';
import { pino } from 'pino';
import type { Logger } from '../telemetry/index.ts';
import type { LogLevel } from './commands/options.ts';

/** Whatever carries a secret by its name, wherever it stands. */
const secrets = ['authorization', 'cookie', 'token', 'secret', 'password', 'api_key', 'apiKey'];
const redact = secrets.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);

/** Logs to standard error: for people on a terminal, as one JSON object a line elsewhere. */
export function createLogger(level: LogLevel): Logger {
  const options = {
    level,
    redact: { paths: redact, censor: '[redacted]' },
    serializers: { error: pino.stdSerializers.err },
  };
  const { stderr } = process;
  return stderr.isTTY
    ? pino(options, { write: (line: string) => void stderr.write(pretty(line)) })
    : pino(options, pino.destination({ fd: 2, sync: true }));
}

const colours = { 20: 'gray', 30: 'green', 40: 'yellow', 50: 'red' } as const;
const names = { 20: 'debug', 30: 'info', 40: 'warn', 50: 'error' } as const;

/** `12:30:01 warn  project.warning problem="..."` */
function pretty(line: string): string {
  const {
    level,
    time,
    msg,
    pid: _,
    hostname: __,
    ...fields
  } = JSON.parse(line) as {
    readonly level: keyof typeof names;
    readonly time: number;
    readonly msg?: string;
  } & Record<string, unknown>;
  const { error, ...rest } = fields;
  const clock = new Date(time).toTimeString().slice(0, 8);
  const shown = Object.entries(rest).map(([key, value]) => ` ${key}=${JSON.stringify(value)}`);
  const stack = (error as { stack?: string } | undefined)?.stack;
  const stream = { stream: process.stderr };
  const name = styleText(colours[level] ?? 'gray', (names[level] ?? '').padEnd(5), stream);
  return `${styleText('gray', clock, stream)} ${name} ${msg ?? ''}${shown.join('')}\n${stack === undefined ? '' : `${stack}\n`}`;
}
