import { STATUS_CODES } from 'node:http';

/** Headers of an answer, by their names in small letters. */
export type HeaderFields = Readonly<Record<string, string | number | readonly string[]>>;

/** Nothing else may stand in a value: a line break would be the beginning of another field. */
const forbidden = /[^\t\x20-\x7e\x80-\xff]/;
const token = /^[\w!#$%&'*+.^`|~-]+$/;

const statusLines = new Map<number, string>();

export function statusLine(status: number): string {
  const known = statusLines.get(status);
  if (known !== undefined) return known;
  const line = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`;
  statusLines.set(status, line);
  return line;
}

/** Fields as they go over the wire, each on a line of its own. */
export function headerLines(fields: HeaderFields): string {
  let lines = '';
  for (const [name, value] of Object.entries(fields)) {
    for (const one of typeof value === 'object' ? value : [value]) {
      const text = String(one);
      if (forbidden.test(text) || !token.test(name)) {
        throw new TypeError(
          `the header ${name} cannot be sent: it has characters that may not be in it`,
        );
      }
      lines += `${name}: ${text}\r\n`;
    }
  }
  return lines;
}
