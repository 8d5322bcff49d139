import {
  Field,
  type Problems,
  readCardTrust,
  readClientTls,
  readUrl,
  type Section,
  type YamlFile,
} from '../../config/index.ts';
import type { Use } from '../domain/uses.ts';
import { readAuthentication } from './authentication.ts';
import { readFilePath, readModelGroupName, readTimezone } from './readers.ts';

const protocols = ['RASA', 'A2A'] as const;
const startupChecks = ['fail', 'warn', 'lazy'] as const;

/** Reads `config.yml` of a folder of sub_agents. Times are in seconds. */
export function readSubAgent(folder: string, file: YamlFile, problems: Problems, uses: Use[]) {
  const root = Field.root(file, problems);
  if (file.isBroken) return undefined;
  const section = root.section();
  const agent = section?.require('agent')?.section();
  if (section === undefined || agent === undefined) return undefined;
  const nameField = agent.require('name');
  const name = nameField?.name();
  const protocol = agent.get('protocol')?.oneOf(protocols, { ignoreCase: true }) ?? 'RASA';
  const description = agent.require('description', 'say what the agent does')?.name() ?? '';
  agent.finish();
  const configuration = section.section('configuration');
  const connections = section.section('connections');
  section.finish();
  const base = {
    name: name ?? folder,
    description,
    folder,
    ...readLimits(configuration, protocol === 'A2A' ? undefined : 'warn'),
  };
  const parts = { section, configuration, connections };
  const read =
    protocol === 'A2A'
      ? { ...base, ...readExternal(folder, parts, uses) }
      : { ...base, ...readReact(folder, parts, base.module !== undefined, uses) };
  // A module of the agent can read its own keys.
  if (base.module === undefined) configuration?.finish();
  connections?.finish();
  if (name === undefined || nameField === undefined) return undefined;
  return { agent: read, field: nameField };
}

/** A sub agent, and the field of its name. */
export type LoadedSubAgent = NonNullable<ReturnType<typeof readSubAgent>>;
export type SubAgent = LoadedSubAgent['agent'];
/** A remote agent, called over A2A. */
export type ExternalAgent = Extract<SubAgent, { protocol: 'A2A' }>;
/** A model in a loop with tools. */
export type ReactAgent = Extract<SubAgent, { protocol: 'RASA' }>;

function readLimits(section: Section | undefined, startupCheck: 'warn' | undefined) {
  return {
    module: section?.name('module'),
    timeout: section?.number('timeout', { minimum: 0 }),
    maxRetries: section?.number('max_retries', { minimum: 0, isInteger: true }) ?? 3,
    /**
     * Whether an agent that does not answer prevents the start of the assistant. Undefined: an agent that
     * rejects the call prevents it, and an unreachable agent is a warning.
     */
    startupCheck: section?.get('startup_check')?.oneOf(startupChecks) ?? startupCheck,
  };
}

interface Parts {
  readonly section: Section;
  readonly configuration: Section | undefined;
  readonly connections: Section | undefined;
}

function readExternal(folder: string, parts: Parts, uses: Use[]) {
  const { section, configuration, connections } = parts;
  if (configuration === undefined) {
    section.field.keyError('"configuration" is missing', { hint: 'name an agent_card in it' });
  }
  connections?.field.keyError('"connections" belongs to agents with protocol RASA');
  connections?.entries();
  const card = configuration?.require('agent_card', 'a URL, or a file of the project');
  const text = card?.name();
  const isUrl = text !== undefined && /^[a-z]+:\/\//i.test(text);
  const agentCard = isUrl ? readUrl(card) : readFilePath(card, 'card', uses, folder);
  return {
    protocol: 'A2A',
    /** A URL, or a key of `Project.files`. */
    agentCard: agentCard ?? '',
    auth: configuration?.mapping('auth', readAuthentication),
    /** Certificates for calls to the agent. */
    tls: configuration?.mapping('tls', readClientTls),
    /** The trusted signers of its card; undefined if the card needs no signature. */
    verifyCard: configuration?.mapping('verify_card', readCardTrust),
    maxPollingTime: configuration?.number('max_polling_time', { minimum: 0 }) ?? 60,
    pollingInitialDelay: configuration?.number('polling_initial_delay', { minimum: 0 }) ?? 0.5,
    /** After this time the agent's task continues in the background. */
    backgroundAfter: configuration?.number('background_after', { minimum: 0 }),
  } as const;
}

function readReact(folder: string, parts: Parts, hasModule: boolean, uses: Use[]) {
  const { section, configuration, connections } = parts;
  const mcpServers =
    connections?.items('mcp_servers', (server) => readConnection(server, uses)) ?? [];
  // Tools can also come from the agent's own module.
  if (mcpServers.length === 0 && !hasModule) {
    const hint = 'name MCP servers under connections, or a module';
    section.field.keyError('the agent has no tools', { hint });
  }
  return {
    protocol: 'RASA',
    modelGroup: configuration && readModelGroupName(configuration, uses, 'calls of the agent fail'),
    /** A key of `Project.files`. */
    promptTemplate: readFilePath(configuration?.get('prompt_template'), 'template', uses, folder),
    includeDateTime: configuration?.boolean('include_date_time') ?? true,
    timezone: configuration === undefined ? 'UTC' : readTimezone(configuration),
    enableFillerMessages: configuration?.boolean('enable_filler_messages') ?? true,
    toolTimeout: configuration?.number('tool_timeout', { minimum: 0.001 }),
    maxIterations: configuration?.number('max_iterations', { minimum: 1, isInteger: true }) ?? 10,
    mcpServers,
  } as const;
}

function readConnection(section: Section, uses: Use[]) {
  const field = section.require('name');
  const name = field?.name();
  if (field !== undefined && name !== undefined) uses.push({ kind: 'mcp_server', name, field });
  const includeTools = section.get('include_tools') && section.names('include_tools');
  const excludeTools = section.get('exclude_tools') && section.names('exclude_tools');
  if (includeTools !== undefined && excludeTools !== undefined) {
    section.get('exclude_tools')?.keyWarn('"include_tools" is there already: both count', {
      hint: 'keep one of them',
    });
  }
  return name === undefined ? undefined : { name, includeTools, excludeTools };
}
