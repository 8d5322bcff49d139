import { expect, test } from 'vitest';
import { checkDashboard } from '../../scripts/deployment/dashboard.ts';
import { metricTable } from '../../src/telemetry/index.ts';

test("the shipped dashboard is one of Grafana's schema, in rows, with a query for every metric", () => {
  expect(checkDashboard().length).toBeGreaterThanOrEqual(Object.keys(metricTable).length);
}, 60_000);
