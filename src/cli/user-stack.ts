import { inspect } from 'node:util';

/** Frames of this package, of Node, and of the library that parses the command line. */
const own = new URL('../', import.meta.url).href;
const isInternal = (line: string): boolean =>
  line.includes(own) || line.includes('node:') || line.includes('/node_modules/commander/');

/**
 * An unexpected error as text. One that starts in the user's modules shows their lines only, which need
 * fixing; any other keeps its whole stack.
 */
export function userStack(error: unknown): string {
  const lines = inspect(error).split('\n');
  const isFrame = (line: string): boolean => /^\s+at /.test(line);
  // A syntax error has its place in front of the message, and no frame.
  const isTheirs =
    lines[0]?.startsWith('file://') === true ||
    lines.some((line) => isFrame(line) && !isInternal(line));
  if (!isTheirs) return lines.join('\n');
  return lines.filter((line) => !isFrame(line) || !isInternal(line)).join('\n');
}
