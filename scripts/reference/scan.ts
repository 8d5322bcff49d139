import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** The code itself, without its tests. */
export function sources(): ReadonlyMap<string, string> {
  const files = globSync('src/**/*.ts', { cwd: root }).filter(
    (file) => !/\.(?:test|contract)\.ts$|\/testing\/|__fixtures__/.test(file),
  );
  return new Map(files.sort().map((file) => [file, readFileSync(join(root, file), 'utf8')]));
}

/** Names of log events with their levels: what stands in calls of loggers and of the audit log. */
export function loggedEvents(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const called = /(?:ogger|log|audit)\??\.(debug|info|warn|error|action)\(/g;
  for (const text of sources().values()) {
    for (const call of text.matchAll(called)) {
      const level = call[1] === 'action' ? 'info' : (call[1] ?? '');
      const inside = balanced(text, call.index + call[0].length);
      for (const [, name = ''] of inside.matchAll(/'([a-z0-9_]+(?:\.[a-z0-9_-]+)+)'/g)) {
        found.set(name, level);
      }
    }
  }
  const audit = sources().get('src/http/audit.ts') ?? '';
  for (const [, name = ''] of audit.matchAll(/'((?:a2a_server|audit)\.[a-z_.]+)'/g)) {
    found.set(name, 'warn');
  }
  return found;
}

/** Names of spans, and of the ways to a peer that are spans too. */
export function startedSpans(): ReadonlySet<string> {
  const found = new Set<string>();
  for (const [file, text] of sources()) {
    for (const [, name = ''] of text.matchAll(/startSpan\(\s*'(legate\.[a-z0-9_.]+)'/g))
      found.add(name);
    if (!file.startsWith('src/peers/invoke/')) continue;
    for (const [, name = ''] of text.matchAll(/'([a-z_]+_(?:dispatch|loop))'/g)) {
      found.add(`legate.a2a.${name}`);
    }
  }
  return found;
}

/** Names of metrics, wherever one is counted. */
export function countedMetrics(): ReadonlySet<string> {
  const found = new Set<string>();
  const made =
    /(?:late(?:Counter|Gauge|Histogram)|\.(?:counter|gauge|histogram|observe|createObservableGauge))\(\s*'((?:legate|process)\.[a-z0-9_.]+)'/g;
  for (const [file, text] of sources()) {
    if (file === 'src/telemetry/metrics.ts') continue;
    const code = text.replaceAll(/^\s*\*.*$/gm, '');
    for (const [, name = ''] of code.matchAll(made)) found.add(name);
  }
  return found;
}

/** Up to the bracket that closes. */
function balanced(text: string, from: number): string {
  let depth = 1;
  let at = from;
  while (depth > 0 && at < text.length) {
    if (text[at] === '(') depth += 1;
    if (text[at] === ')') depth -= 1;
    at += 1;
  }
  return text.slice(from, at);
}
