/** Patterns of a project run on one engine, `src/regex`, whose time is linear. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const source = join(import.meta.dirname, '../src');
const own = (pattern: string) =>
  globSync(pattern, { cwd: source }).filter((file) => !/\.test\.ts$|\/testing\//.test(file));

/**
 * Where `RegExp` is called with text that isn't written out at that place. All of it is ours:
 * lists of words and dates in our own code, never a text of a project.
 */
const builtIn = new Set([
  'assistant/generators/llm/parse-commands.ts',
  'assistant/generators/matching/fill.ts',
  'assistant/generators/matching/pattern-answers.ts',
  'assistant/generators/matching/phrases.ts',
  'assistant/generators/matching/values/dates.ts',
  'assistant/generators/matching/values/numbers.ts',
  'assistant/generators/matching/values/periods.ts',
  'assistant/generators/words/gloss.ts',
  'assistant/generators/words/language.ts',
  'assistant/small-talk/small-talk.ts',
  'assistant/templates/methods.ts',
]);

test('no other module compiles patterns of a project', () => {
  const compiling = own('{assistant,config,mcp}/**/*.ts').filter((file) =>
    /\bRegExp\(|node:vm/.test(readFileSync(join(source, file), 'utf8')),
  );
  expect(compiling.filter((file) => !builtIn.has(file))).toEqual([]);
});

test('only src/regex knows the engine', () => {
  const users = own('**/*.ts').filter((file) =>
    readFileSync(join(source, file), 'utf8').includes("'re2js'"),
  );
  expect(users).toEqual(['regex/pattern.ts']);
});
