import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { expect, test } from 'vitest';

/** The modules, lowest first: a module may use those before it and no other. */
const modules = [
  'time',
  'protocol',
  'config',
  'regex',
  'search',
  'telemetry',
  'net',
  'store',
  'push',
  'client',
  'models',
  'mcp',
  'agents',
  'tasks',
  'auth',
  'service',
  'http',
  'grpc',
  'peers',
  'bus',
  'assistant',
  'cli',
];
const source = join(import.meta.dirname, '../src');
const specifiers = /(?:from|import)\s*\(?\s*'(\.[^']+)'/g;

interface Import {
  readonly file: string;
  readonly from: string;
  readonly to: string;
  readonly target: string;
}

/** Imports that cross from one module into another. Tests may use the test support. */
const crossings: Import[] = globSync('**/*.ts', { cwd: source }).flatMap((file) => {
  const text = readFileSync(join(source, file), 'utf8');
  return [...text.matchAll(specifiers)].flatMap(([, specifier = '']) => {
    const target = relative(source, join(source, dirname(file), specifier));
    const from = file.split(sep)[0] ?? '';
    const to = target.split(sep)[0] ?? '';
    if (from === to || to === '..' || !file.includes(sep)) return [];
    return [{ file, from, to, target }];
  });
});

test('every folder of src is a module with a place in the order', () => {
  const folders = globSync('*/', { cwd: source });
  expect(folders.filter((folder) => !modules.includes(folder))).toEqual([]);
});

test('imports point downwards only', () => {
  const upwards = crossings.filter(({ from, to }) => modules.indexOf(to) >= modules.indexOf(from));
  expect(upwards).toEqual([]);
});

test('no transport imports another; the gateway joins two of them', () => {
  const transports = ['http', 'grpc', 'bus'];
  const between = crossings.filter(
    ({ file, from, to }) =>
      transports.includes(from) &&
      transports.includes(to) &&
      !/\.(?:test|contract)\.ts$/.test(file) &&
      !file.startsWith(join('bus', 'gateway', '')),
  );
  expect(between).toEqual([]);
});

test('a module is entered through its index.ts only', () => {
  const bypassing = crossings.filter(
    ({ file, to, target }) => target !== join(to, 'index.ts') && !isTestSupport(file, target),
  );
  expect(bypassing).toEqual([]);
});

/** Arbitraries and contract suites of a lower module are for tests only, and no part of its entry. */
function isTestSupport(file: string, target: string): boolean {
  return file.endsWith('.test.ts') && /(?:[/\\]testing[/\\].*|\.contract)\.ts$/.test(target);
}

test('client, protocol and time need no Node, so that they run in a browser', () => {
  const nodeImports = globSync('{client,protocol,time}/**/*.ts', { cwd: source })
    .filter((file) => !file.includes('.test.') && !file.includes(`${sep}testing${sep}`))
    .filter((file) => /from 'node:/.test(readFileSync(join(source, file), 'utf8')));
  expect(nodeImports).toEqual([]);
});
