import * as fc from 'fast-check';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { LegateError } from '../../protocol/index.ts';
import { readTar, writeTar } from './package-entries.ts';

const name = fc.stringMatching(/^[A-Za-z0-9_é-][A-Za-z0-9_. é-]{0,30}$/);
const path = fc.array(name, { minLength: 1, maxLength: 5 }).map((names) => names.join('/'));
const content = fc.uint8Array({ maxLength: 2_000 });

function plain(entries: readonly { path: string; content: Uint8Array }[]) {
  return entries.map(({ path, content }) => [path, Buffer.from(content).toString('hex')]);
}

test('what is written is read again', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.record({ path, content }), { selector: (one) => one.path }),
      (entries) => {
        expect(plain(readTar(writeTar(entries)))).toEqual(plain(entries));
      },
    ),
    { numRuns: 300 },
  );
});

test('whatever the bytes, reading gives entries with safe paths or a LegateError', () => {
  const valid = writeTar([{ path: 'a/b.yml', content: Buffer.from('x') }]);
  const damage = fc.array(fc.tuple(fc.nat(valid.length - 1), fc.nat(255)), { maxLength: 4 });
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 2_048 }), damage), (change) => {
      const bytes = Uint8Array.from(valid);
      if (change instanceof Uint8Array) bytes.set(change.subarray(0, bytes.length));
      else for (const [at, value] of change) bytes[at] = value;
      try {
        for (const entry of readTar(bytes)) expect(entry.path).not.toMatch(/^\/|\.\.(\/|$)/);
      } catch (error) {
        expect(error).toBeInstanceOf(LegateError);
      }
    }),
    { numRuns: 1_000 },
  );
});

test.each([
  '',
  '/etc/passwd',
  '../x',
  'a/../b',
  'a//b',
  './a',
  'a\\b',
  'C:/x',
  'a\nb',
  'x'.repeat(300),
])('the path %j is refused', (unsafe) => {
  expect(() => writeTar([{ path: unsafe, content: new Uint8Array() }])).toThrow(LegateError);
});

/** Overwrites a header field and corrects the checksum, as an attacker would. */
function forge(offset: number, text: string): Uint8Array {
  const bytes = Buffer.from(writeTar([{ path: 'harmless', content: Buffer.from('x') }]));
  bytes.fill(0, 0, offset === 0 ? 100 : 0);
  bytes.write(text, offset, 'latin1');
  bytes.fill(' ', 148, 156);
  const sum = bytes.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return bytes;
}

test('an archive that would write elsewhere is refused', () => {
  expect(() => readTar(forge(0, '../../x'))).toThrow('unsafe path');
  expect(() => readTar(forge(0, '/x'))).toThrow('unsafe path');
  expect(() => readTar(forge(156, '2'))).toThrow('not a plain file');
  expect(() => readTar(forge(124, '77777777777'))).toThrow('cut off');
});

test('the same path twice and damaged bytes are refused', () => {
  const twice = { path: 'a', content: new Uint8Array() };
  expect(() => readTar(writeTar([twice, twice]))).toThrow('the package holds a twice');
  const bytes = writeTar([twice]);
  bytes[0] = 66;
  expect(() => readTar(bytes)).toThrow('the package is damaged');
});

test('other tools can read what we write', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'legate-tar-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const long = `${'folder/'.repeat(15)}${'n'.repeat(90)}.yml`;
  const archive = writeTar([
    { path: 'a.txt', content: Buffer.from('one') },
    { path: long, content: Buffer.from('two') },
  ]);
  await writeFile(join(directory, 'x.tar'), archive);
  await promisify(execFile)('tar', ['-xf', 'x.tar'], { cwd: directory });
  expect(await readFile(join(directory, 'a.txt'), 'utf8')).toBe('one');
  expect(await readFile(join(directory, long), 'utf8')).toBe('two');
});
