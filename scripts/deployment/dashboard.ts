import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { deploy, output, root } from './tools.ts';

const target = z.object({ expr: z.string() });
const panel = z.object({
  id: z.number().int().positive(),
  type: z.string(),
  title: z.string().min(1),
  gridPos: z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
  datasource: z.object({ uid: z.string() }).optional(),
  targets: z.array(target).optional(),
});
const schema = z.object({
  templating: z.object({ list: z.array(z.object({ name: z.string(), type: z.string() })) }),
  panels: z.array(panel),
});

/**
 * Checks the dashboard file: against the types of Grafana's schema, including unknown keys, for unique
 * ids, for panels that don't overlap, and for a data source that a variable selects. Returns its queries.
 */
export function checkDashboard(): readonly string[] {
  const text = readFileSync(join(deploy, 'grafana/legate.json'), 'utf8');
  checkTypes(text);
  const { panels, templating } = schema.parse(JSON.parse(text));
  const ids = new Set(panels.map(({ id }) => id));
  if (ids.size !== panels.length) throw new Error('two panels of the dashboard have one id');
  for (const [at, one] of panels.entries()) {
    const other = panels.slice(at + 1).find((another) => overlap(one.gridPos, another.gridPos));
    if (other !== undefined) throw new Error(`${one.title} and ${other.title} overlap`);
  }
  if (panels[0]?.type !== 'row') throw new Error('the dashboard does not start with a row');
  const sources = templating.list.filter(({ type }) => type === 'datasource');
  const chosen = new Set(sources.map(({ name }) => `\${${name}}`));
  const fixed = panels.filter(({ datasource }) => datasource && !chosen.has(datasource.uid));
  if (fixed.length > 0) throw new Error(`${fixed[0]?.title} has a data source of its own`);
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}

type Area = z.infer<typeof panel>['gridPos'];

function overlap(one: Area, other: Area): boolean {
  return (
    one.x < other.x + other.w &&
    other.x < one.x + one.w &&
    one.y < other.y + other.h &&
    other.y < one.y + one.h
  );
}

/**
 * TypeScript checks the file as a literal of the type. The file is in the checkout, so that it finds the
 * schema.
 */
function checkTypes(text: string): void {
  const folder = join(root, `.legate/dashboard-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  try {
    const module = `import type { Dashboard } from '@grafana/schema';\nexport const dashboard: Dashboard = ${text};\n`;
    writeFileSync(join(folder, 'dashboard.ts'), module);
    const flags = ['--noEmit', '--strict', '--skipLibCheck', '--ignoreConfig'];
    const resolution = ['--module', 'esnext', '--moduleResolution', 'bundler', '--types', 'node'];
    output(join(root, 'node_modules/.bin/tsc'), [
      ...flags,
      ...resolution,
      join(folder, 'dashboard.ts'),
    ]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
