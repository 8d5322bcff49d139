/**
 * Runs the examples: `npm run examples [-- name ...]`. Each example is a program in its own folder that
 * checks itself, prints one line, and exits with an error if its check fails. `--folder` selects another
 * folder with examples.
 */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values, positionals: wanted } = parseArgs({
  options: { folder: { type: 'string', default: import.meta.dirname } },
  allowPositionals: true,
});
const { folder } = values;
const known = readdirSync(folder).filter((name) => existsSync(join(folder, name, 'check.ts')));
const unknown = wanted.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  console.error(`no example named ${unknown.join(', ')}; there are: ${known.join(', ')}`);
  process.exit(2);
}
/** Some examples import `legate`, like a separate project does. */
const ownName = join(import.meta.dirname, '../test/docs/own-name.ts');
let failures = 0;
for (const name of wanted.length > 0 ? wanted : known) {
  const code = await run(join(folder, name, 'check.ts'));
  if (code !== 0) {
    failures += 1;
    console.error(`example ${name}: failed (exit ${code})`);
  }
}
process.exitCode = failures > 0 ? 1 : 0;

function run(file: string): Promise<number> {
  return new Promise((resolve) => {
    // Some examples fail on purpose.
    const env = { LOG_LEVEL: 'silent', ...process.env };
    const child = spawn(process.execPath, ['--import', ownName, file], {
      env,
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    child.on('exit', (code) => resolve(code ?? 1));
  });
}
