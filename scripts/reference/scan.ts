import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** The sources, without tests. */
export function sources(): ReadonlyMap<string, string> {
  const files = globSync('src/**/*.ts', { cwd: root }).filter(
    (file) => !/\.(?:test|contract)\.ts$|\/testing\/|__fixtures__/.test(file),
  );
  return new Map(files.sort().map((file) => [file, readFileSync(join(root, file), 'utf8')]));
}

/** Matches calls of loggers and of the audit log. */
const logging = /(?:(?:ogger|log|audit)\??\.(debug|info|warn|error|action)|audited)\(/g;
const eventName = /'([a-z0-9_]+(?:\.[a-z0-9_-]+)+)'/g;

/** Files whose log calls have a variable event name, with the possible names. */
const indirect: Readonly<Record<string, (text: string) => readonly [string, string][]>> = {
  'src/service/audit.ts': (text) =>
    namesIn(text, /'(audit\.[a-z_.]+)'/g).map((name) => [name, 'warn']),
  'src/assistant/channels/rasa-operations.ts': (text) =>
    namesIn(text, /: '(a2a_server\.[a-z0-9_.]+)'/g).map((name) => [name, levels[name] ?? 'warn']),
  'src/peers/trust/trust-ledger.ts': (text) =>
    namesIn(text, /event: '(trust\.[a-z_]+)'/g).map((name) => [`peers.${name}`, 'info']),
};
/** Levels of events with the names of Rasa. @default warn */
const levels: Readonly<Record<string, string>> = {
  'a2a_server.sanic_app.stream_sse.error': 'error',
};
/** Files that forward the log calls of others. */
const passing = new Set([
  'src/http/inspector/inspection.ts',
  'src/telemetry/logger.ts',
  'src/telemetry/log-summary.ts',
]);

/** The names of log events with all their levels, from calls of loggers and of the audit log. */
export function loggedEvents(): ReadonlyMap<string, string> {
  const levels = new Map<string, Set<string>>();
  const found = {
    set: (name: string, level: string) =>
      void levels.set(name, (levels.get(name) ?? new Set()).add(level)),
  };
  for (const [file, text] of sources()) {
    for (const { method, inside } of logCalls(text)) {
      const level = method === 'action' ? 'info' : method;
      for (const name of namesIn(inside, eventName)) found.set(name, level);
    }
    for (const [name, level] of indirect[file]?.(text) ?? []) found.set(name, level);
  }
  return new Map(Array.from(levels, ([name, each]) => [name, [...each].sort().join(', ')]));
}

/** Log calls whose event name is not a literal. */
export function namelessLogCalls(): readonly string[] {
  return [...sources()].flatMap(([file, text]) => {
    if (file in indirect || passing.has(file)) return [];
    const nameless = logCalls(text).filter(({ inside }) => namesIn(inside, eventName).length === 0);
    return nameless.map(({ inside }) => `${file}: (${inside}`);
  });
}

function logCalls(text: string): readonly { readonly method: string; readonly inside: string }[] {
  return Array.from(text.matchAll(logging), (call) => ({
    method: call[1] ?? 'action',
    inside: balanced(text, call.index + call[0].length),
  }));
}

function namesIn(text: string, pattern: RegExp): readonly string[] {
  return Array.from(text.matchAll(pattern), ([, name = '']) => name);
}

/** The names of spans, including the dispatch spans of calls to peers. */
export function startedSpans(): ReadonlySet<string> {
  const found = new Set<string>();
  for (const [file, text] of sources()) {
    for (const [, name = ''] of text.matchAll(/startSpan\(\s*'(legate\.[a-z0-9_.]+)'/g))
      found.add(name);
    for (const [, name = ''] of code(text).matchAll(/traced\(\{\s*span: '([a-z_./]+)'/g))
      found.add(name);
    if (!file.startsWith('src/peers/invoke/')) continue;
    for (const [, name = ''] of text.matchAll(/'([a-z_]+_(?:dispatch|loop))'/g)) {
      found.add(`legate.a2a.${name}`);
    }
  }
  return found;
}

/** The names of all recorded metrics. */
export function countedMetrics(): ReadonlySet<string> {
  const found = new Set<string>();
  const made =
    /(?:(?:counter|upDownCounter|histogram|observeGauge|observeCounter)\(\s*|(?:calls|duration): )'((?:legate|process|nodejs)\.[a-z0-9_.]+)'/g;
  for (const text of sources().values()) {
    for (const [, name = ''] of code(text).matchAll(made)) found.add(name);
  }
  return found;
}

/** The text without comments. */
function code(text: string): string {
  return text.replaceAll(/^\s*\*.*$/gm, '');
}

/** The text up to the closing bracket. */
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

/** The names that are only in the code, and the names that are only in the descriptions. */
export function mismatches(
  what: string,
  inCode: ReadonlySet<string>,
  described: readonly string[],
): readonly string[] {
  return [
    ...[...inCode]
      .filter((name) => !described.includes(name))
      .map((name) => `${what} ${name} is not described`),
    ...described
      .filter((name) => !inCode.has(name))
      .map((name) => `${what} ${name} is described, but not in the code`),
  ];
}
