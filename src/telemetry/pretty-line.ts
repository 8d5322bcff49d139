import { styleText } from 'node:util';

const colours = { debug: 'gray', info: 'green', warn: 'yellow', error: 'red' } as const;

/** `12:30:01 warn  project.warning problem="..."`, and the stack of an error below. */
export function prettyLine(line: string, stream: NodeJS.WriteStream): string {
  const { level, time, event, error, ...rest } = JSON.parse(line) as {
    readonly level: keyof typeof colours;
    readonly time: string;
    readonly event?: string;
    readonly error?: { readonly stack?: string } | string;
  } & Readonly<Record<string, unknown>>;
  const clock = new Date(time).toTimeString().slice(0, 8);
  const stack = typeof error === 'object' ? error.stack : undefined;
  const fields = { ...rest, ...(stack === undefined && error !== undefined && { error }) };
  const shown = Object.entries(fields).map(([key, value]) => ` ${key}=${JSON.stringify(value)}`);
  const name = styleText(colours[level] ?? 'gray', level.padEnd(5), { stream });
  const head = `${styleText('gray', clock, { stream })} ${name} ${event ?? ''}`;
  return `${head}${shown.join('')}\n${stack === undefined ? '' : `${stack}\n`}`;
}
