import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const source = join(import.meta.dirname, '..');
const files = globSync('{client,protocol}/**/*.ts', { cwd: source }).filter(
  (file) => !file.endsWith('.test.ts') && !file.includes('testing'),
);

test('the client and the protocol run in a browser: nothing of Node is imported', () => {
  expect(files.length).toBeGreaterThan(20);
  const offenders = files.filter((file) => {
    const text = readFileSync(join(source, file), 'utf8');
    return /(?:from|import)\s*\(?\s*['"](?:node:|[^.'"])/.test(text);
  });
  expect(offenders).toEqual([]);
});

test('the client uses no global of Node', () => {
  const offenders = files.filter((file) => {
    if (!file.startsWith('client')) return false;
    const text = readFileSync(join(source, file), 'utf8');
    return /\b(?:Buffer|process|require|setImmediate|__dirname)\b\s*[.(]/.test(text);
  });
  expect(offenders).toEqual([]);
});
