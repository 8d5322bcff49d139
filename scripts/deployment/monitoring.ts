import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkDashboard } from './dashboard.ts';
import { company, deploy, MissingToolError, output, root } from './tools.ts';

/** Checks Prometheus' rules and configuration with promtool of Debian's package `prometheus`. */
export async function checkMonitoring(): Promise<string> {
  if (!existsSync('/usr/bin/promtool'))
    throw new MissingToolError('promtool is not installed (apt-get install prometheus)');
  const rules = output('promtool', ['check', 'rules', join(root, 'docs/reference/alerts.yml')]);
  for (const folder of [join(deploy, 'prometheus'), company]) {
    output('promtool', ['check', 'config', '--syntax-only', join(folder, 'prometheus.yml')]);
  }
  const queries = checkDashboard();
  checkQueries(queries);
  const count = /(\d+) rules found/.exec(rules)?.[1] ?? '?';
  return `${count} alert rules, ${queries.length} queries of the dashboard`;
}

/** Checks queries as recording rules, which promtool reads; JSON is YAML. */
function checkQueries(queries: readonly string[]): void {
  const rules = queries.map((expr, at) => ({ record: `dashboard:query_${at}`, expr }));
  const folder = mkdtempSync(join(tmpdir(), 'legate-monitoring-'));
  const file = join(folder, 'queries.yml');
  try {
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
    output('promtool', ['check', 'rules', file]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
