import type { BindingName } from '../../client/index.ts';
import { type ClientTlsFiles, present } from '../../config/index.ts';
import type { FileSource, TlsMaterial } from '../../net/index.ts';
import type { JsonObject } from '../../protocol/index.ts';
import type { ClientCommandOptions } from '../commands/options.ts';
import { jsonObjectOf, usage } from '../usage.ts';
import { CommandFailure } from './failure.ts';
import { type SettingName, Settings } from './settings.ts';
import { isExposed, readTls } from './tls.ts';

/** The settings of a call, from flags, environment, files and defaults, in that order. */
export interface Choices {
  readonly agent: string;
  /** Operands without the agent. */
  readonly operands: readonly string[];
  /** For commands in hints: `-a <agent>`. */
  readonly agentFlag: string;
  readonly transports: readonly BindingName[];
  /** Undefined for the newest that the card offers. */
  readonly version: '1.0' | '0.3' | undefined;
  readonly bearer?: string;
  readonly apiKey?: string;
  readonly tls?: FileSource<TlsMaterial>;
  readonly serviceParameters: Readonly<Record<string, string>>;
  readonly extensions: readonly string[];
  readonly timeoutMs?: number;
  readonly pollMs?: number;
  readonly contextId?: string;
  readonly taskId?: string;
  readonly metadata?: JsonObject;
  readonly historyLength?: number;
  readonly awaitsAuthorization: boolean;
  readonly isInsecure: boolean;
  readonly isJson: boolean;
  readonly isVerbose: boolean;
  readonly isDebug: boolean;
  /** Files with credentials that other users can read. */
  readonly exposedFiles: readonly string[];
  /** Whether a flag or setting is on. */
  readonly isSet: (name: SettingName) => boolean;
}

/** `given`: the operands of the command, or its only operand. */
export function choicesOf(
  options: ClientCommandOptions,
  given: readonly string[] | string | undefined,
): Choices {
  const operands = typeof given === 'string' ? [given] : (given ?? []);
  const settings = new Settings(options.config);
  const { text, list, isSet } = readers(options, settings);
  const flagged = text('agent-card');
  const agent = flagged ?? operands[0];
  if (agent === undefined) {
    throw new CommandFailure('A2ACLI_ERR_USAGE', 'which agent?', {
      hint: 'name it with --agent-card <url>, A2ACLI_AGENT_CARD, or as the first argument',
    });
  }
  refuseForeignAgent(options, settings);
  const files = tlsFilesOf(options, settings);
  const metadata = text('metadata');
  return {
    agent,
    operands: flagged === undefined ? operands.slice(1) : operands,
    agentFlag: `-a ${quoted(agent)}`,
    transports: transportsOf(list('transport')),
    version: versionOf(text('a2a-version')),
    ...present({
      bearer: text('bearer'),
      apiKey: text('api-key'),
      tls: readTls(files),
      contextId: text('context-id'),
      taskId: text('task-id'),
      metadata: metadata === undefined ? undefined : jsonObjectOf(metadata, '--metadata'),
      historyLength: historyOf(text('history')),
      timeoutMs: durationOf(text('timeout'), '--timeout'),
      pollMs: durationOf(text('poll-interval'), '--poll-interval', 50),
    }),
    awaitsAuthorization: isSet('await-auth'),
    serviceParameters: parametersOf([...list('svc-param'), ...(options.header ?? [])]),
    extensions: list('extension'),
    isInsecure: options.insecure ?? isInsecure(settings),
    isJson: isJsonOutput(options, text('output')),
    isVerbose: isSet('verbose'),
    isDebug: isSet('debug'),
    exposedFiles: [...settings.exposed, ...exposedKeys(files)],
    isSet,
  };
}

/** Values by name: of the flag, else of the setting. Flags are named like settings, in camel case. */
function readers(options: ClientCommandOptions, settings: Settings) {
  const flags = new Map<string, unknown>(Object.entries(options));
  const flag = (name: SettingName): unknown =>
    flags.get(name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase()));
  const setting = (name: SettingName): string | undefined => settings.get(name)?.value;
  return {
    text: (name: SettingName): string | undefined => {
      const value = flag(name);
      return typeof value === 'string' ? value : setting(name);
    },
    list: (name: SettingName): readonly string[] => {
      const values = flag(name);
      if (Array.isArray(values)) return values.map(String);
      return (
        setting(name)
          ?.split(',')
          .map((one) => one.trim()) ?? []
      );
    },
    isSet: (name: SettingName): boolean => {
      const value = flag(name);
      return typeof value === 'boolean' ? value : isOn(setting(name));
    },
  };
}

function isJsonOutput({ json = false }: ClientCommandOptions, output = 'text'): boolean {
  if (json || output === 'json') return true;
  if (output === 'text') return false;
  throw usage(`--output is text or json, not ${output}`);
}

/** A `.env` file of a folder can name an agent, but the user's credentials must not be sent to it. */
function refuseForeignAgent(options: ClientCommandOptions, settings: Settings): void {
  if (options.agentCard !== undefined) return;
  const agent = settings.get('agent-card');
  if (agent?.isFound !== true) return;
  const given = {
    bearer: options.bearer,
    'api-key': options.apiKey,
    cert: options.cert,
    // Any service parameter may contain a credential.
    'svc-param': options.svcParam,
  };
  for (const name of ['bearer', 'api-key', 'cert', 'svc-param'] as const) {
    const credential = settings.get(name);
    if (given[name] !== undefined || credential === undefined || credential.isFound) continue;
    throw usage(
      `${agent.source} names the agent, and the credential is from ${credential.source}: to send it there, name the agent yourself with --agent-card or A2ACLI_AGENT_CARD`,
    );
  }
}

/** A `.env` file of a folder must not choose the certificate authorities to trust. */
function tlsFilesOf(options: ClientCommandOptions, settings: Settings): ClientTlsFiles {
  const authority = settings.get('ca');
  if (options.ca === undefined && authority?.isFound === true) {
    throw usage(
      `${authority.source} names authorities to trust: to trust them, name them yourself with --ca or A2ACLI_CA`,
    );
  }
  const cert = options.cert ?? settings.get('cert')?.value;
  return {
    cert,
    // A key belongs to the certificate that it is set with.
    key: options.key ?? (options.cert === undefined ? settings.get('key')?.value : undefined),
    ca: options.ca ?? authority?.value,
    passphrase: process.env['A2ACLI_KEY_PASSPHRASE'],
  };
}

function exposedKeys({ cert, key = cert }: ClientTlsFiles): readonly string[] {
  return key !== undefined && isExposed(key) ? [key] : [];
}

/** A `.env` file of a folder must not disable the verification of certificates. */
function isInsecure(settings: Settings): boolean {
  const setting = settings.get('insecure');
  return setting !== undefined && !setting.isFound && isOn(setting.value);
}

function isOn(value: string | undefined): boolean {
  return value !== undefined && /^(?:1|true|yes|on)$/i.test(value);
}

/** Quotes a word for the shell. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function historyOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const count = Number(text);
  if (Number.isSafeInteger(count) && count >= 0 && text.trim() !== '') return count;
  throw usage(`--history ${text} is not a number of messages`);
}

function versionOf(text: string | undefined): '1.0' | '0.3' | undefined {
  if (text === undefined) return undefined;
  if (/^1\.0(?:\.\d+)?$/.test(text)) return '1.0';
  if (/^0\.3(?:\.\d+)?$/.test(text)) return '0.3';
  throw usage(`--a2a-version ${text} is not supported; use 1.0 or 0.3`);
}

const bindings: Readonly<Record<string, BindingName>> = {
  jsonrpc: 'JSONRPC',
  'json-rpc': 'JSONRPC',
  'http+json': 'HTTP+JSON',
  rest: 'HTTP+JSON',
  grpc: 'GRPC',
};

function transportsOf(wanted: readonly string[]): BindingName[] {
  return wanted.map((text) => {
    const name = text.toLowerCase();
    const binding = Object.hasOwn(bindings, name) ? bindings[name] : undefined;
    if (binding !== undefined) return binding;
    throw usage(`--transport ${text} is not a binding; use JSONRPC, HTTP+JSON or GRPC`);
  });
}

function parametersOf(pairs: readonly string[]): Record<string, string> {
  const parameters: Record<string, string> = {};
  for (const pair of pairs) {
    const [, name, value] = /^([\w!#$%&'*+.^`|~-]+)\s*:\s*(.*)$/s.exec(pair) ?? [];
    if (name === undefined || value === undefined || name === '__proto__') {
      throw usage('write service parameters as name:value');
    }
    parameters[name] = value;
  }
  return parameters;
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** `500ms`, `30s`, `5m`, `1h`, or seconds without a unit; in milliseconds. */
function durationOf(text: string | undefined, flag: string, minimumMs = 0): number | undefined {
  if (text === undefined) return undefined;
  const [, number, unit = 's'] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)?$/.exec(text.trim()) ?? [];
  if (number !== undefined) {
    return Math.max(minimumMs, Math.round(Number(number) * (units[unit] ?? 1)));
  }
  throw usage(`${flag} ${JSON.stringify(text)} is not a duration; write 500ms, 30s, 5m or 1h`);
}
