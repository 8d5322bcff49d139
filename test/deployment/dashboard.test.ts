import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkDashboard } from '../../scripts/deployment/dashboard.ts';
import { metricTable } from '../../src/telemetry/index.ts';

test("the shipped dashboard is one of Grafana's schema, in rows, with a query for every metric", () => {
  expect(checkDashboard().length).toBeGreaterThanOrEqual(Object.keys(metricTable).length);
}, 60_000);

test('panels have titles in words, rates have a unit, and descriptions name the metric', () => {
  const file = join(import.meta.dirname, '../../deploy/grafana/legate.json');
  const { panels } = JSON.parse(readFileSync(file, 'utf8')) as {
    readonly panels: readonly {
      readonly title: string;
      readonly description?: string;
      readonly targets?: readonly { readonly expr: string }[];
      readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
    }[];
  };
  const drawn = panels.filter(({ targets }) => targets !== undefined);
  expect(drawn.filter(({ title }) => !/^[A-Z][\w-]* [^.]+$/.test(title))).toEqual([]);
  expect(drawn.filter(({ description = '' }) => !/^[a-z0-9._]+: /.test(description))).toEqual([]);
  const rates = drawn.filter(({ targets = [] }) =>
    targets.some(({ expr }) => /^sum.*\(rate\(/.test(expr)),
  );
  expect(rates.length).toBeGreaterThan(20);
  expect(rates.filter(({ fieldConfig }) => fieldConfig?.defaults.unit === undefined)).toEqual([]);
});
