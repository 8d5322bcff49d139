/** Runs the modules given, one after the other, and writes what each printed as one line of JSON. */
import { pathToFileURL } from 'node:url';
import { formatWithOptions } from 'node:util';
import './own-name.ts';

const files = process.argv.slice(2);
for (const file of files) {
  const lines: string[] = [];
  console.log = (...values: unknown[]) => void lines.push(formatWithOptions({}, ...values));
  let error: string | undefined;
  try {
    await import(pathToFileURL(file).href);
  } catch (thrown) {
    error = (thrown as Error).stack ?? String(thrown);
  }
  process.stdout.write(`${JSON.stringify({ file, output: lines.join('\n'), error })}\n`);
}
process.exit(0);
