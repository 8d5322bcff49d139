import { expect, test } from 'vitest';
import { metricTable, prometheusName } from '../../src/telemetry/index.ts';

test.each(Object.entries(metricTable))(
  'the alert of %s reads metrics that exist',
  (name, entry) => {
    const known = Object.entries(metricTable).map(([each, { type, ...rest }]) =>
      prometheusName({ name: each, type, ...('unit' in rest && { unit: rest.unit }) }),
    );
    const named = entry.alert.expr.match(/\b(?:legate|process|nodejs)_\w+(?=[{[\s)]|$)/g) ?? [];
    const labels = entry.labels.map((label) => label.replaceAll('.', '_'));
    const metrics = named.filter((each) => !labels.includes(each));
    expect(metrics, name).not.toEqual([]);
    for (const each of metrics) {
      expect(known).toContain(each.replace(/_(?:bucket|count|sum)$/, ''));
    }
  },
);
