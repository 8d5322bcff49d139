import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { TemplateScope } from './rendering.ts';
import { compileTemplate } from './template.ts';

interface Recorded {
  readonly scope: TemplateScope;
  readonly cases: readonly {
    readonly group: string;
    readonly template: string;
    readonly expected: string;
  }[];
}

const { scope, cases } = JSON.parse(
  readFileSync(new URL('./__fixtures__/jinja2.json', import.meta.url), 'utf8'),
) as Recorded;

test.each(cases)('$group: $template renders as Jinja2 renders it', ({ template, expected }) => {
  expect(compileTemplate(template).render(scope)).toBe(expected);
});

test.each([
  ['{{ 4 / 2 }} {{ 2.0 }}', '2 2', 'numbers are those of JSON: whole ones have no fraction'],
  ['{{ true == 1 }}', 'False', 'a boolean is not a number'],
  ['{{ 1 < "a" }}', 'False', 'what has no order is not smaller'],
  ['{{ missing.deeper.still }}', '', 'what is missing has no error'],
  [
    '{% for x in none %}{{ x }}{% else %}none{% endfor %}',
    'none',
    'other values than lists are empty',
  ],
])('differs from Jinja2 on purpose: %s renders as %j, since %s', (template, expected) => {
  expect(compileTemplate(template).render(scope)).toBe(expected);
});
