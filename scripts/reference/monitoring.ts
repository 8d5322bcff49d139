/** A dashboard with a panel for every metric, in rows, generated from the table of metrics. */
import type { Dashboard, Panel, RowPanel } from '@grafana/schema';
import { metricTable, prometheusName } from '../../src/telemetry/index.ts';

type Metric = (typeof metricTable)[keyof typeof metricTable];

/** The files by their path from the root. */
export function monitoringFiles(): ReadonlyMap<string, string> {
  return new Map([['deploy/grafana/legate.json', `${JSON.stringify(dashboard(), null, 2)}\n`]]);
}

function metrics(): readonly (readonly [name: string, metric: Metric])[] {
  return Object.entries(metricTable);
}

const width = 8;
const perRow = 24 / width;
/** The data source that the user selects at the top of the dashboard. */
const datasource = { type: 'prometheus', uid: '${datasource}' };

/** The rows, with the first words of their metrics (without `legate.`). */
const rows: Readonly<Record<string, readonly string[]>> = {
  Requests: ['request', 'streams', 'http'],
  'Turns and conversations': ['turns', 'turn', 'events', 'contexts'],
  Assistants: ['flow', 'action', 'sub_agent'],
  'Models and tools': ['model', 'tool', 'mcp'],
  Webhooks: ['push'],
  Store: ['store'],
  'Bus and peers': ['messaging', 'a2a'],
  Process: ['process', 'nodejs', 'telemetry'],
};

function dashboard(): Dashboard {
  const placed = new Set<string>();
  const panels: (Panel | RowPanel)[] = [];
  let y = 0;
  for (const [title, words] of Object.entries(rows)) {
    const own = metrics().filter(([name]) => words.includes(rowWordOf(name)));
    const gridPos = { x: 0, y, w: 24, h: 1 };
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title,
      collapsed: false,
      gridPos,
      panels: [],
    });
    y += 1;
    for (const [at, [name, metric]] of own.entries()) {
      placed.add(name);
      panels.push(panelOf(name, metric, { id: panels.length + 1, at, y }));
    }
    y += Math.ceil(own.length / perRow) * width;
  }
  const missing = metrics().filter(([name]) => !placed.has(name));
  if (missing.length > 0) throw new Error(`no row has ${missing.map(([name]) => name).join(', ')}`);
  return {
    uid: 'legate',
    title: 'Legate',
    description: 'Every metric of Legate. Written by `npm run reference`.',
    tags: ['legate'],
    schemaVersion: 42,
    version: 1,
    editable: true,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    templating: {
      list: [{ type: 'datasource', name: 'datasource', label: 'Data source', query: 'prometheus' }],
    },
    panels,
  };
}

/** @example rowWordOf('legate.turn.duration') // 'turn' */
function rowWordOf(name: string): string {
  return name.replace(/^legate\./, '').split('.')[0] ?? '';
}

interface PanelPlace {
  readonly id: number;
  /** The position in its row, and the top of the row. */
  readonly at: number;
  readonly y: number;
}

function panelOf(name: string, metric: Metric, { id, at, y }: PanelPlace): Panel {
  const unit = unitOf(metric);
  return {
    id,
    type: 'timeseries',
    title: titleOf(metric),
    description: `${name}: ${metric.help}`,
    datasource,
    gridPos: {
      x: (at % perRow) * width,
      y: y + Math.floor(at / perRow) * width,
      w: width,
      h: width,
    },
    targets: queriesOf(name, metric).map(({ expr, legend }, number) => ({
      refId: String.fromCodePoint(65 + number),
      expr,
      legendFormat: legend,
    })),
    fieldConfig: {
      defaults: { ...(unit !== undefined && { unit }), custom: {} },
      overrides: [],
    },
    options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi' } },
  };
}

/** @example titleOf(metricTable['legate.turns']) // 'Ended turns by outcome, per second' */
function titleOf(metric: Metric): string {
  if (metric === metricTable['process.start_time']) return 'Uptime of the process';
  const [title = ''] = metric.help.split(/[:;]/);
  return metric.type === 'counter' && !('unit' in metric) ? `${title}, per second` : title;
}

/** Counters are shown as rates; seconds per second are a share of a processor. */
function unitOf(metric: Metric): string | undefined {
  const units: Readonly<Record<string, string>> = { s: 's', ms: 'ms', By: 'bytes' };
  const unit = 'unit' in metric ? metric.unit : undefined;
  if (metric.type === 'counter') return unit === 's' ? 'percentunit' : 'ops';
  return unit === undefined ? undefined : units[unit];
}

function queriesOf(
  name: string,
  metric: Metric,
): readonly { readonly expr: string; readonly legend: string }[] {
  const { type } = metric;
  const series = prometheusName({ name, type, ...('unit' in metric && { unit: metric.unit }) });
  const labels = metric.labels.map((label) => label.replaceAll('.', '_'));
  const by = (...more: string[]) => {
    const all = [...labels, ...more];
    return all.length === 0 ? '' : ` by (${all.join(', ')})`;
  };
  const legend = labels.map((label) => `{{${label}}}`).join(' ');
  if (type === 'counter') {
    // Metrics of a process have no labels, so they are split by instance.
    const each = name.startsWith('process.') ? ['instance'] : [];
    const text = [legend, ...each.map((label) => `{{${label}}}`)].join(' ').trim();
    return [{ expr: `sum${by(...each)} (rate(${series}[5m]))`, legend: text || name }];
  }
  if (name === 'process.start_time')
    return [{ expr: `time() - ${series}`, legend: '{{instance}}' }];
  if (type === 'gauge')
    return [{ expr: `sum${by('instance')} (${series})`, legend: `${legend} {{instance}}`.trim() }];
  return [0.5, 0.95].map((quantile) => ({
    expr: `histogram_quantile(${quantile}, sum${by('le')} (rate(${series}_bucket[5m])))`,
    legend: `p${quantile * 100} ${legend}`.trim(),
  }));
}
