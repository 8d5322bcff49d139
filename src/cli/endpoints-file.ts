import type { EmbeddingModelSource } from '../agents/index.ts';
import {
  endpointSections,
  Field,
  formatProblem,
  type PeersSettings,
  type Problem,
  Problems,
  readPeers,
  readStore,
  readTelemetry,
  type Section,
  type StoreSettings,
  suggest,
  type TelemetrySettings,
  YamlFile,
} from '../config/index.ts';
import { readServerSection, type ServerSettings } from '../http/index.ts';
import { isJsonObject, type JsonObject } from '../protocol/index.ts';
import { type PushSettings, readPushSection } from '../push/index.ts';
import { readNamedFile } from './usage.ts';

/** The sections of endpoints.yml that commands read themselves. */
export interface Sections {
  /** The section `bus`, with the URL filled in; undefined when no bus is configured. */
  readonly bus?: JsonObject | undefined;
  /** Whether the file has a section `bus`. The URL can come from `--bus-url` or AMQP_URL instead. */
  readonly isBusWritten?: boolean;
  readonly peers?: PeersSettings | undefined;
  /** The model group of `peers.embeddings`. */
  readonly embeddings?: EmbeddingModelSource | undefined;
  readonly store?: StoreSettings | undefined;
  readonly telemetry?: TelemetrySettings | undefined;
  /** `a2a_server:`, without keys for assistants only. */
  readonly server?: ServerSettings | undefined;
  /** `push:`: the allowed addresses of webhooks, and their signing keys. */
  readonly push?: PushSettings | undefined;
  /** The file of these sections. */
  readonly file?: string;
  /** Keys without effect. */
  readonly warnings?: readonly string[];
}

/** Keys of `a2a_server` for assistants only, with hints for other agents. */
const assistantKeys: Readonly<Record<string, string>> = {
  description: 'the agent describes itself',
  agent_card_path: 'the card is made of the agent',
  include_conversation_repair: 'only assistants have patterns',
  on_interrupted: 'write onInterrupted in the code of the agent',
};

function readServer(root: Section | undefined): ServerSettings | undefined {
  return root?.mapping('a2a_server', (section) => {
    for (const [key, hint] of Object.entries(assistantKeys)) {
      section.get(key)?.keyWarn(`"${key}" has no effect: it is for assistants`, { hint });
    }
    return readServerSection(section);
  });
}

interface SectionOptions {
  /** Ignores the bus unless the agent has peers. */
  readonly ignoresBus: boolean;
  /** Whether the file configures a server of an agent in code, or a gateway; checks all its keys. */
  readonly serves: boolean;
}

/** Reads the valid sections of a file, and the problems of the others. */
export async function readSections(
  file: string,
  { ignoresBus, serves }: SectionOptions,
): Promise<Sections & { readonly errors: readonly Problem[] }> {
  const text = await readNamedFile(file);
  const problems = new Problems();
  const yaml = YamlFile.parse({ file, text }, problems, { environment: process.env });
  const root = yaml.value === null ? undefined : Field.root(yaml, problems).section();
  const peersSection = root?.section('peers');
  let embeddingGroup: Field | undefined;
  const peers = peersSection && readPeers(peersSection, (field) => (embeddingGroup = field));
  const leavesBus = ignoresBus && peers === undefined;
  const sections = {
    peers,
    embeddings: embeddingGroup && (await modelGroupOf(embeddingGroup, root)),
    store: readIn(root, 'store', readStore),
    telemetry: readIn(root, 'telemetry', readTelemetry),
    push: root?.mapping('push', readPushSection),
    server: readServer(root),
    // Problems of the bus are filtered out below if the bus is not used.
    ...readBus(yaml, root),
  };
  if (serves && root !== undefined) {
    for (const section of endpointSections) root.get(section);
    root.finishLeniently();
  }
  const read = serves ? servedPaths : usualPaths;
  const isRead = ({ path }: Problem): boolean =>
    read.test(path) && !(leavesBus && /^bus\b/.test(path));
  return {
    ...sections,
    errors: problems.errors.filter(isRead),
    warnings: serves ? problems.nonFatal.filter(isRead).map(formatProblem) : [],
  };
}

/** Sections whose problems are reported. Code that reads other sections reports theirs. */
const usualPaths = /^(?:$|bus\b|peers\b|store\b|telemetry\b|push\b|a2a_server\.auth\b)/;
/** The same for servers, with unknown section names. */
const servedPaths = /^(?:[^.[]*$|(?:bus|peers|store|telemetry|push|a2a_server)\b)/;

function readIn<T>(
  root: Section | undefined,
  key: string,
  read: (section: Section) => T,
): T | undefined {
  const section = root?.section(key);
  return section && read(section);
}

function readBus(
  yaml: YamlFile,
  root: Section | undefined,
): Pick<Sections, 'bus' | 'isBusWritten'> {
  const section = root?.section('bus');
  section?.secret('passphrase');
  const url = section?.get('url');
  const hasPassword = typeof url?.value === 'string' && /:\/\/[^/@]*:[^/@]+@/.test(url.value);
  if (hasPassword && !yaml.isInterpolated(['bus', 'url'])) {
    url?.error("don't write secrets into files", 'write "${AMQP_URL}"');
  }
  const bus = isJsonObject(yaml.value) ? yaml.value['bus'] : undefined;
  const isBusWritten = isJsonObject(bus);
  return { bus: isBusWritten ? bus : undefined, isBusWritten };
}

/** The model group that `peers.embeddings` names. */
async function modelGroupOf(
  field: Field,
  root: Section | undefined,
): Promise<EmbeddingModelSource | undefined> {
  const { readModelGroup, readModelGroups } = await import('../models/index.ts');
  const { groups } = readModelGroups(root?.list('model_groups') ?? []);
  const id = field.name() ?? '';
  const group = groups.get(id);
  if (group === undefined) {
    const names = [...groups.keys()];
    field.error(
      `there is no model group "${id}"`,
      suggest(id, names, names.length === 0 ? 'add it below model_groups' : names.join(', ')),
    );
    return undefined;
  }
  const { models } = readModelGroup(group);
  return { id, models };
}

/** The valid model groups of a file. */
export async function modelGroupsIn(
  file: string | undefined,
): Promise<ReadonlyMap<string, JsonObject>> {
  if (file === undefined) return new Map();
  const text = await readNamedFile(file);
  const problems = new Problems();
  const yaml = YamlFile.parse({ file, text }, problems, { environment: process.env });
  const { readModelGroups } = await import('../models/index.ts');
  return readModelGroups(Field.document(yaml, problems).list('model_groups')).groups;
}
