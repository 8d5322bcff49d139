/**
 * Seeded mutation testing of the modules whose defects lose or leak tasks.
 * Usage: node scripts/mutants/main.ts [--count 300] [--from 0] [--seed 16] [--modules tasks,store,auth,push]
 *   [--report FILE]
 *
 * Draws mutants at random, applies one at a time in a copy of the checkout, and runs the tests of the
 * module until the first failure: first the tests that import the file, then the rest of its module. A
 * mutant survives if all of them pass. `--from` skips the first mutants of the draw, so that a sample can
 * be run in portions. Exits with 1 if fewer than 90 % were killed.
 */
import {
  chmodSync,
  cpSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { parseSync, Visitor } from 'oxc-parser';
import { endServers } from '../../test/support/servers.ts';
import { startDatabase } from './database.ts';
import { startTests, type TestProcess } from './test-process.ts';

interface Mutant {
  readonly file: string;
  readonly line: number;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  readonly rule: string;
}

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '300' },
    from: { type: 'string', default: '0' },
    seed: { type: 'string', default: '16' },
    modules: { type: 'string', default: 'tasks,store,auth,push' },
    report: { type: 'string' },
  },
});
const root = join(import.meta.dirname, '../..');
/** Tests outside of a module that cover its guarantees, in the order in which they run. */
const furtherTests: Readonly<Record<string, readonly string[]>> = {
  tasks: ['test/agents/**', 'src/http/**', 'test/restart/**'],
  store: ['src/tasks/**'],
  auth: ['src/bus/identity/**', 'test/security/**', 'src/http/**'],
  push: ['src/http/**'],
};

const swaps: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '&&': '||',
  '||': '&&',
  '??': '&&',
};

function mutantsOf(file: string): Mutant[] {
  const text = readFileSync(join(root, file), 'utf8');
  const found: Mutant[] = [];
  const add = (start: number, end: number, replacement: string, rule: string): void => {
    const line = text.slice(0, start).split('\n').length;
    found.push({ file, line, start, end, replacement, rule });
  };
  const swap = (left: number, right: number, operator: string): void => {
    const other = swaps[operator];
    const at = text.indexOf(operator, left);
    if (other !== undefined && at >= 0 && at < right)
      add(at, at + operator.length, other, operator);
  };
  const { program } = parseSync(file, text);
  new Visitor({
    BinaryExpression: (node) => swap(node.left.end, node.right.start, node.operator),
    LogicalExpression: (node) => swap(node.left.end, node.right.start, node.operator),
    IfStatement: (node) => {
      add(node.test.start, node.test.end, 'true', 'if true');
      add(node.test.start, node.test.end, 'false', 'if false');
    },
    ConditionalExpression: (node) => {
      add(node.test.start, node.test.end, 'true', '? true');
      add(node.test.start, node.test.end, 'false', '? false');
    },
    UnaryExpression: (node) => {
      if (node.operator === '!') add(node.start, node.start + 1, '', '!');
    },
    Literal: (node) => {
      if (typeof node.value === 'boolean')
        add(node.start, node.end, String(!node.value), 'boolean');
    },
    ExpressionStatement: (node) => {
      const { type } = node.expression;
      if (type === 'CallExpression' || type === 'AwaitExpression')
        add(node.start, node.end, ';', 'call removed');
      if (type === 'AssignmentExpression') add(node.start, node.end, ';', 'assignment removed');
    },
  }).visit(program);
  return found;
}

/** The generator of Numerical Recipes: a seed always draws the same mutants from the same source. */
function drawing(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function draw<T>(items: readonly T[], count: number, random: () => number): T[] {
  const pool = [...items];
  const drawn: T[] = [];
  while (drawn.length < count && pool.length > 0)
    drawn.push(...pool.splice(Math.floor(random() * pool.length), 1));
  return drawn;
}

/**
 * The tests of a mutant: those that import its file, those of its folder and of its module, then further
 * ones.
 */
function roundsOf({ file }: Mutant): string[][] {
  const module = file.split('/')[1] ?? '';
  const near = globSync(`${dirname(file)}/*.test.ts`, { cwd: root });
  const importing = near.filter((test) =>
    readFileSync(join(root, test), 'utf8').includes(`'./${basename(file)}'`),
  );
  const rounds = [importing, near];
  for (const folder of [`src/${module}/**`, ...(furtherTests[module] ?? [])])
    rounds.push(globSync(`${folder}/*.test.ts`, { cwd: root }));
  const seen = new Set<string>();
  return rounds.map((round) => round.filter((test) => !seen.has(test) && seen.add(test)));
}

const folders = values.modules.split(',');
const sources = folders
  .flatMap((name) => globSync(`src/${name}/**/*.ts`, { cwd: root }))
  .filter((file) => !/\.test\.|\.contract\.|\/testing\/|index\.ts$/.test(file))
  .toSorted();
const all = sources.flatMap(mutantsOf);
const from = Number(values.from);
const chosen = draw(all, from + Number(values.count), drawing(Number(values.seed))).slice(from);
console.log(
  `${chosen.length} of ${all.length} mutants in ${sources.length} files, seed ${values.seed}`,
);

const copy = mkdtempSync(join(tmpdir(), 'legate-mutants-'));
const survivors: string[] = [];
const database = await startDatabase();
let tests: TestProcess | undefined;
try {
  // Tests that run as another user read modules in this folder.
  chmodSync(copy, 0o755);
  cpSync(root, copy, {
    recursive: true,
    filter: (path) => !/\/(?:node_modules|\.git|dist)$/.test(path),
  });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  for (const [index, mutant] of chosen.entries()) {
    const path = join(copy, mutant.file);
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.slice(0, mutant.start) + mutant.replacement + text.slice(mutant.end));
    tests ??= await startTests(copy, database.url);
    const result = await tests.run({ changed: mutant.file, rounds: roundsOf(mutant) });
    writeFileSync(path, text);
    await database.empty();
    const name = `${mutant.file}:${mutant.line} ${mutant.rule}`;
    const { outcome, failure } = result;
    console.log(`${from + index + 1} ${outcome.padEnd(8)} ${name}  ${failure ?? ''}`);
    if (outcome === 'SURVIVED') survivors.push(name);
    if (outcome === 'hung') tests = undefined;
  }
} finally {
  tests?.stop();
  endServers();
  rmSync(copy, { recursive: true, force: true });
}
const rate = 1 - survivors.length / chosen.length;
console.log(`killed ${(rate * 100).toFixed(1)} %; survivors:\n${survivors.join('\n')}`);
if (values.report !== undefined) writeFileSync(values.report, survivors.join('\n'));
process.exitCode = rate >= 0.9 ? 0 : 1;
