import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { metricTable } from '../../src/telemetry/index.ts';
import { promtool } from '../support/promtool.ts';

const rules = join(import.meta.dirname, '../../docs/reference/alerts.yml');

test('the alerts are valid rules', { timeout: 300_000 }, async () => {
  const { stdout } = await promisify(execFile)(promtool(), ['check', 'rules', rules]);
  expect(stdout).toContain(`${Object.keys(metricTable).length} rules found`);
});
