import { inspect } from 'node:util';

/** Frames of this package, of Node, and of the library that parses the command line. */
const own = new URL('../', import.meta.url).href;
const isInternal = (line: string): boolean =>
  line.includes(own) || line.includes('node:') || line.includes('/node_modules/commander/');

/**
 * Formats an unexpected error. If the stack contains frames of the user's modules, only these are shown.
 * Otherwise the whole stack is shown.
 */
export function userStack(error: unknown): string {
  const lines = inspect(error).split('\n');
  const isFrame = (line: string): boolean => /^\s+at /.test(line);
  // A syntax error has its position before the message, and no stack frame.
  const isTheirs =
    lines[0]?.startsWith('file://') === true ||
    lines.some((line) => isFrame(line) && !isInternal(line));
  if (!isTheirs) return lines.join('\n');
  return lines.filter((line) => !isFrame(line) || !isInternal(line)).join('\n');
}
