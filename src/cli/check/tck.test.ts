import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { legate, patient } from '../testing/legate-process.ts';

/** A checkout whose Python tells what it is asked to run, and ends as it is told to. */
function checkout(script: string, exit: number): Disposable & { readonly folder: string } {
  const folder = mkdtempSync(join(tmpdir(), 'legate-tck-'));
  writeFileSync(join(folder, 'run_tck.py'), script);
  mkdirSync(join(folder, '.venv/bin'), { recursive: true });
  const python = join(folder, '.venv/bin/python');
  writeFileSync(python, `#!/bin/sh\necho "$(basename "$PWD") $*"\nexit ${exit}\n`);
  chmodSync(python, 0o755);
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

const agent = 'http://127.0.0.1:9';

test(
  'CONFORM_001: the kit of the 1.0 line is run against the agent, over the bindings asked for',
  patient,
  async () => {
    using kit = checkout('parser.add_argument("--sut-host")', 0);
    const all = await legate(['conformance', agent, '--tck', kit.folder]);
    expect(all.code).toBe(0);
    expect(all.out).toMatch(
      /^legate-tck-\w+ run_tck\.py --sut-host http:\/\/127\.0\.0\.1:9 --level must\n$/,
    );
    const flags = ['--transport', 'grpc', '--transport', 'http+json'];
    const some = await legate(['conformance', agent, '--tck', kit.folder, ...flags]);
    expect(some.out).toContain('--transport grpc,http_json');
  },
);

test('CONFORM_001: the 0.3 line, and a kit that is not content: exit 1', patient, async () => {
  using kit = checkout('parser.add_argument("--sut-url")', 3);
  const { code, out, err } = await legate(['conformance', agent, '--json', '--tck', kit.folder]);
  expect(code).toBe(1);
  expect(JSON.parse(out)).toEqual({ agent, suite: '0.3', passed: false });
  expect(err).toContain(`--sut-url ${agent} --category mandatory`);
});

test(
  'CONFORM_001: a folder without the kit is wrong usage, and says where it is to be had',
  patient,
  async () => {
    const { code, err } = await legate(['conformance', agent, '--tck', tmpdir()]);
    expect(code).toBe(2);
    expect(err).toContain('a2aproject/a2a-tck');
  },
);
