/** `docs/security.md` names tests as its proof: they must be there. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const text = readFileSync(join(root, 'docs/security.md'), 'utf8');

/** All rows of the tables of threats, but their heads: what is shown, and by which tests. */
const rows = text
  .slice(text.indexOf('\n## Threats\n'), text.indexOf('\n## How to\n'))
  .split('\n')
  .filter((line) => line.startsWith('|') && !/^\|(?: threat \||[-|: ]+$)/.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, threat = '', , proof = '']) => ({ threat, proof }));

/** `file` “name”; “another of the same file”; `file` “name” */
function named(proof: string): { file: string; name: string }[] {
  let file = '';
  return [...proof.matchAll(/`(?<file>[^`]+\.(?:test|contract)\.ts)`|“(?<name>[^”]+)”/g)].flatMap(
    ({ groups }) => {
      if (groups?.['file'] !== undefined) file = groups['file'];
      return groups?.['name'] === undefined ? [] : [{ file, name: groups['name'] }];
    },
  );
}

test('every threat names the tests that show what stands against it', () => {
  expect(rows.length).toBeGreaterThan(40);
  expect(rows.filter(({ proof }) => named(proof).length === 0)).toEqual([]);
  const threats = rows.map(({ threat }) => threat);
  expect(new Set(threats).size).toBe(threats.length);
});

test('every test that is named exists, in the file that is named', () => {
  const missing = rows
    .flatMap(({ proof }) => named(proof))
    .filter(({ file, name }) => {
      const path = join(root, file);
      return !existsSync(path) || !readFileSync(path, 'utf8').includes(`'${name}'`);
    });
  expect(missing).toEqual([]);
});
