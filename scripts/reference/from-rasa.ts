import { parse } from 'yaml';
import { formatPath, type Path, type Problem, Problems } from '../../src/config/problem.ts';
import { assemble } from '../../src/assistant/project/load-project.ts';
import { type JsonValue, isJsonObject } from '../../src/protocol/index.ts';
import { keyTables } from './keys.ts';
import { rasaSamples } from './rasa-samples.ts';

/** How the loader treats a key: it changes the project with all or some values, or it doesn't. */
export type Treatment = 'supported' | 'partly' | 'warning' | 'no effect' | 'error';

/** A key of a project written for Rasa. */
export interface RasaKey {
  readonly file: string;
  /** For example `slots.*.mappings[].type`. */
  readonly key: string;
  readonly treatment: Treatment;
  /** The warning or the error. */
  readonly says: string;
}

/** The project around a sample, which declares the names that samples use. */
const surroundings: Readonly<Record<string, string>> = {
  'config.yml': '{}',
  'domain.yml': `
slots: {my_size: {type: categorical, values: [s, m]}}
responses: {utter_my_words: [{text: Hi}]}
actions: [action_my_own]
intents: [my_greet]
session_config: {start_session_after_expiry: false}
`,
  'data/flows.yml': 'flows: {my_other: {description: Waits., steps: [{action: utter_my_words}]}}',
  'endpoints.yml': `
model_groups: [{id: my_group, models: [{provider: ollama, model: m}]}]
mcp_servers: [{name: my_tools, url: "http://127.0.0.1:1/mcp"}, {name: my_other, url: "http://127.0.0.1:1/mcp"}]
`,
  'sub_agents/my_agent/config.yml':
    'agent: {name: my_agent, description: Helps.}\nconnections: {mcp_servers: [{name: my_tools}]}',
};
const environment = { SECRET: 'secret' };

/** Loads the files; returns the project in a comparable form, and the problems. */
async function load(files: Readonly<Record<string, string>>) {
  const problems = new Problems();
  const part = (file: string) => ({
    file,
    name: file.split('/').at(-2) ?? file,
    text: files[file] ?? '',
  });
  const project = await assemble(
    {
      name: 'shop',
      directory: '.',
      config: part('config.yml'),
      domain: [part('domain.yml')],
      data: [part('data/flows.yml')],
      endpoints: part('endpoints.yml'),
      credentials: part('credentials.yml'),
      subAgents: [part('sub_agents/my_agent/config.yml')],
      subAgentsDirectory: 'sub_agents',
      documents: async () => [{ source: 'a.md', text: 'A' }],
      file: async () => 'Answer.',
    },
    environment,
    problems,
  );
  // Action servers get the domain as it was written, independent of the keys that the loader reads.
  const read = { ...project, domain: { ...project.domain, raw: undefined } };
  return { read: comparable(read), problems: problems.all };
}

/** Converts a project to text without positions, which change with every edit. */
function comparable(value: unknown): string {
  return JSON.stringify(value, (key, inner: unknown) => {
    if (key === 'position' || key === 'place') return undefined;
    if (inner instanceof Map) return [...inner];
    if (inner instanceof Set) return [...inner];
    return inner;
  });
}

/** Tries every key of the samples by omitting it. */
async function tryKeys(): Promise<readonly RasaKey[]> {
  const found = new Map<string, RasaKey>();
  for (const { file, text } of rasaSamples) {
    const document = parse(text) as JsonValue;
    const loadWith = (value: JsonValue) => load({ ...surroundings, [file]: JSON.stringify(value) });
    const whole = await loadWith(document);
    const leftOut: string[] = [];
    for (const path of pathsOf(document)) {
      const place = formatPath(path);
      if (leftOut.some((above) => place.startsWith(`${above}.`) || place.startsWith(`${above}[`)))
        continue;
      const without = await loadWith(omit(document, path));
      const hasEffect = whole.read !== without.read || errorsOf(without) !== errorsOf(whole);
      const said = whole.problems.find((one) => one.position.file === file && isAbout(one, path));
      if (said?.severity === 'error' || (!hasEffect && !isList(document, path))) {
        leftOut.push(place);
      }
      const one = {
        file: file.replace('my_agent', '*'),
        key: nameOf(path),
        ...judge(said, hasEffect),
      };
      const id = `${one.file} ${one.key}`;
      if (!one.key.endsWith('.*')) found.set(id, merge(found.get(id), one));
    }
  }
  return [...found.values()];
}

/**
 * Merges the results of a key in two samples: supported with one value and a warning with another is
 * "partly".
 */
function merge(before: RasaKey | undefined, now: RasaKey): RasaKey {
  if (before === undefined) return now;
  const says = now.says === '' ? before.says : now.says;
  const both = [before.treatment, now.treatment];
  const effects = both.filter((one) => one === 'supported' || one === 'partly');
  if (both.includes('error')) return { ...now, treatment: 'error', says };
  if (effects.length > 0) return { ...now, treatment: says === '' ? 'supported' : 'partly', says };
  return { ...now, treatment: says === '' ? 'no effect' : 'warning', says };
}

function errorsOf({ problems }: { readonly problems: readonly Problem[] }): string {
  const errors = problems.filter(({ severity }) => severity === 'error');
  return errors.map(({ path, message }) => `${path}: ${message}`).join('\n');
}

/** Whether a problem is about a key. A warning about a component is about its name. */
function isAbout(problem: Problem, path: Path): boolean {
  const isName = path.at(-1) === 'name' && typeof path.at(-2) === 'number';
  return (
    problem.path === formatPath(path) || (isName && problem.path === formatPath(path.slice(0, -1)))
  );
}

function judge(said: Problem | undefined, hasEffect: boolean): Pick<RasaKey, 'treatment' | 'says'> {
  if (said === undefined) return { treatment: hasEffect ? 'supported' : 'no effect', says: '' };
  const says = said.hint === undefined ? said.message : `${said.message}; ${said.hint}`;
  if (said.severity === 'error') return { treatment: 'error', says };
  return { treatment: hasEffect ? 'partly' : 'warning', says };
}

/** The paths of all keys of mappings. */
function pathsOf(value: JsonValue, above: Path = []): readonly Path[] {
  if (Array.isArray(value)) return value.flatMap((one, index) => pathsOf(one, [...above, index]));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    [...above, key],
    ...(opaque.has(key) ? [] : pathsOf(inner, [...above, key])),
  ]);
}

/** Keys of mappings whose inner keys the author chooses. */
const opaque = new Set(
  'headers params extra_headers extra_body static attachment custom quick_replies elements env set_slots'.split(
    ' ',
  ),
);

function nameOf(path: Path): string {
  return path
    .map((key) =>
      typeof key === 'number' ? '[]' : /^(?:utter_|action_)?my_|^fr$/.test(key) ? '.*' : `.${key}`,
    )
    .join('')
    .replace(/^\./, '');
}

function isList(value: JsonValue | undefined, [key, ...rest]: Path): boolean {
  if (key === undefined) return Array.isArray(value);
  if (Array.isArray(value)) return isList(value[Number(key)], rest);
  return isJsonObject(value) && isList(value[key], rest);
}

/** A copy without one key. */
function omit(value: JsonValue, [key, ...rest]: Path): JsonValue {
  if (Array.isArray(value))
    return value.map((one, index) => (index === key ? omit(one, rest) : one));
  if (!isJsonObject(value) || typeof key !== 'string') return value;
  const { [key]: inner, ...others } = value;
  if (rest.length === 0 || inner === undefined) return others;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, name === key ? omit(one, rest) : one]),
  );
}

/** The paths of the keys of a table in their file. */
const prefixes: Readonly<Record<string, readonly string[]>> = {
  'config.yml': [''],
  'config.yml, endpoints.yml and sub agents: models and time': [
    'pipeline[].',
    'policies[].',
    'nlg.',
    'configuration.',
  ],
  'config.yml: EnterpriseSearchPolicy': ['policies[].'],
  'endpoints.yml': [''],
  'endpoints.yml: `a2a_server`': ['a2a_server.'],
  'endpoints.yml: `model_groups`': ['model_groups[].'],
  'endpoints.yml: `mcp_servers`': ['mcp_servers[].'],
  'Authentication of MCP servers and sub agents': ['mcp_servers[].', 'configuration.auth.'],
  'domain.yml': [''],
  'domain.yml: `responses`': ['responses.*[].'],
  'data/: `flows`': ['flows.*.', ''],
  'data/: steps of flows': ['flows.*.steps[].'],
  'sub_agents/*/config.yml': [''],
};
/** Keys that only Legate has. */
const own = /^(?:store|telemetry|outbound|peers|search|synonyms|small_talk|examples)\b/;

/** Keys that the loader reads and no sample contains. */
export function untriedKeys(keys: readonly RasaKey[]): readonly string[] {
  const tried = new Set(keys.map(({ key }) => key));
  return keyTables.flatMap(({ title, keys: described }) =>
    Object.keys(described)
      .filter(
        (key) => !own.test(key) && prefixes[title]?.every((prefix) => !tried.has(prefix + key)),
      )
      .map((key) => `${title}: ${key}`),
  );
}

/** The description of a key of this file in the configuration reference. */
function meaningOf({ file, key }: RasaKey): string {
  for (const { title, keys } of keyTables.toReversed()) {
    const isOfFile =
      title.startsWith(file.replace('flows.yml', '')) || /models and time|^Auth/.test(title);
    for (const prefix of (isOfFile && prefixes[title]) || []) {
      const meaning = key.startsWith(prefix) ? keys[key.slice(prefix.length)]?.[1] : undefined;
      if (meaning !== undefined) return meaning;
    }
  }
  return '';
}

/** The table row of a key. */
export function rowOf(one: RasaKey): string {
  return `| \`${one.key}\` | ${one.treatment} | ${one.says === '' ? meaningOf(one) : one.says} |`;
}

export async function rasaKeysPage(): Promise<string> {
  const keys = await rasaKeys();
  const untried = untriedKeys(keys);
  if (untried.length > 0)
    throw new Error(`scripts/reference/rasa-samples.ts lacks\n${untried.join('\n')}`);
  const tables = [...Map.groupBy(keys, ({ file }) => file)].map(([file, ofFile]) =>
    [`## ${file}`, ['| key | here | |', '|---|---|---|', ...ofFile.map(rowOf)].join('\n')].join(
      '\n\n',
    ),
  );
  return [
    '# Keys of Rasa projects',
    'What `legate` makes of each key, found by loading a project with the key and without it.',
    [
      '- **supported**: the key is read: the loaded project differs without it.',
      '- **warning**: the project runs, and `legate validate` says what happens instead.',
      '- **partly**: the key is supported, but for values such as the one that the warning names.',
      '- **no effect**: the key is accepted without a warning.',
      '- **error**: the project does not run with it.',
    ].join('\n'),
    'A key that is not here is a warning too, or an error where it looks like a typo. Defaults: [configuration](configuration.md). Keys of conversation tests: [the same page](configuration.md#tests-files-of-conversation-tests-and-conftestyml). The steps: [move from Rasa](../guides/from-rasa.md).',
    ...tables,
  ].join('\n\n');
}

let tried: Promise<readonly RasaKey[]> | undefined;

/** Every key of the samples; loads hundreds of projects, once. */
export function rasaKeys(): Promise<readonly RasaKey[]> {
  tried ??= tryKeys();
  return tried;
}
