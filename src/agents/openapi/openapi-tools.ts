import {
  checkOptions,
  invalidConfiguration,
  type JsonObject,
  LegateError,
  type OptionNames,
} from '../../protocol/index.ts';
import type { CredentialProvider } from '../tools/credentials.ts';
import { type Tool, tool } from '../tools/tool.ts';
import type { ToolSet } from '../tools/tool-set.ts';
import { apiDocument, listOperations, type Operation, readOperation } from './operation.ts';
import {
  type ApiAnswer,
  type ApiRequest,
  applyCredential,
  readAnswer,
  type Scheme,
  schemesOf,
  toRequest,
} from './request.ts';
import { SchemaResolver } from './resolve-schema.ts';

/**
 * Which operations of an API become tools, and how they are called.
 * @example
 * const options: OpenApiToolsOptions = {
 *   baseUrl: 'https://pets.example/v2',
 *   include: ['list_pets', 'add_pet'], // of the operations listPets and addPet
 *   needsConfirmation: 'changes',
 * };
 */
export interface OpenApiToolsOptions {
  /** The base URL of the API. @default the first server of the description */
  readonly baseUrl?: string;
  /** Only these tools, by name. */
  readonly include?: readonly string[];
  /** All but these tools. */
  readonly exclude?: readonly string[];
  /** Prefix of each tool name. @default '' */
  readonly prefix?: string;
  /**
   * Provides credentials by the names of the description's security schemes. Without it, the agent's
   * provider is used, and the caller is asked for missing credentials.
   */
  readonly credentials?: CredentialProvider;
  /**
   * Which calls need the caller's confirmation: those that change something, all, or none.
   * @default 'none'
   */
  readonly needsConfirmation?: 'none' | 'changes' | 'all';
  /** Makes the requests. @default globalThis.fetch */
  readonly fetch?: typeof globalThis.fetch;
  /** Timeout of a call, in milliseconds. @default 30_000 */
  readonly timeoutMs?: number;
  /** Maximum bytes of a response that are read. @default 1 MiB */
  readonly maxResponseBytes?: number;
}

const optionNames: OptionNames<OpenApiToolsOptions> = {
  baseUrl: 'string',
  include: 'list',
  exclude: 'list',
  prefix: 'string',
  credentials: 'function',
  needsConfirmation: ['none', 'changes', 'all'],
  fetch: 'function',
  timeoutMs: 'number',
  maxResponseBytes: 'number',
};

const harmless: ReadonlySet<string> = new Set(['get', 'head', 'options']);
const repeatable: ReadonlySet<string> = new Set(['get', 'head', 'options', 'put', 'delete']);
const maxOperations = 512;

/**
 * Creates tools from an OpenAPI 3 description: one for each operation, with `{ status, body }` as its
 * result. Redirects are not followed.
 * @example llmAgent({ name: 'clerk', model, tools: [openApiTools(description, { include: ['list_pets'] })] })
 */
export function openApiTools(document: JsonObject, options: OpenApiToolsOptions = {}): ToolSet {
  checkOptions('openApiTools', options, optionNames);
  const read = apiDocument.safeParse(document);
  if (!read.success) {
    throw invalidConfiguration('not an OpenAPI 3 description: "openapi" must start with 3.');
  }
  const resolver = new SchemaResolver(document);
  const listed = listOperations(read.data, resolver);
  const { include, exclude = [] } = options;
  const wanted = listed.filter(({ name }) =>
    include === undefined ? !exclude.includes(name) : include.includes(name),
  );
  if (wanted.length > maxOperations) {
    throw invalidConfiguration(
      `the API has ${wanted.length} operations, more than the limit of ${maxOperations}; include some`,
    );
  }
  const operations = wanted.flatMap((each) => readOperation(each, read.data, resolver) ?? []);
  const missing = (include ?? []).filter((name) => !operations.some((each) => each.name === name));
  if (missing.length > 0) {
    const names = listed.map(({ name }) => name).filter((name) => !missing.includes(name));
    const there = names.slice(0, maxOperations).join(', ');
    throw invalidConfiguration(
      `the API has no operation named ${missing.join(', ')}; it has ${there}`,
    );
  }
  const tools = operations.map((operation) => {
    const schemes = schemesOf(operation, read.data, resolver);
    return toTool(operation, schemes, addressOf(operation, options), options);
  });
  return { name: read.data.info.title ?? 'API', tools: async () => tools };
}

function addressOf({ name, server }: Operation, { baseUrl }: OpenApiToolsOptions): string {
  const address = baseUrl ?? server ?? '';
  const url = URL.parse(address);
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === '') return address;
  throw invalidConfiguration(
    `operation ${name}: "${address}" is not an http or https URL; set baseUrl`,
  );
}

function toTool(
  operation: Operation,
  schemes: readonly Scheme[],
  base: string,
  options: OpenApiToolsOptions,
): Tool {
  const { needsConfirmation = 'none', timeoutMs = 30_000, credentials, prefix = '' } = options;
  const { method, name, description, inputSchema } = operation;
  const [only] = schemes;
  // Without a `credentials` function, the agent asks for the credential; it can ask for only one.
  const asks = credentials === undefined && only !== undefined;
  if (asks && schemes.length > 1) {
    throw invalidConfiguration(
      `operation ${name} needs several credentials at once (${schemes.map((each) => each.name).join(', ')}): give openApiTools a credentials function`,
    );
  }
  return tool({
    name: `${prefix}${name}`.slice(0, 64),
    description,
    input: inputSchema,
    timeoutMs,
    isIdempotent: repeatable.has(method),
    needsConfirmation:
      needsConfirmation === 'all' || (needsConfirmation === 'changes' && !harmless.has(method)),
    ...(asks && { credentials: { scheme: only.name, scopes: only.scopes } }),
    run: async (input, context) => {
      const request = toRequest(operation, base, input);
      const { turn, signal } = context;
      const { caller, contextId } = turn;
      for (const each of schemes) {
        const { name: scheme, scopes } = each;
        const credential =
          credentials === undefined
            ? context.credential
            : await credentials({ scheme, scopes, tool: name, caller, contextId, signal });
        if (credential === undefined) throw new Error(`missing credential for ${scheme}`);
        applyCredential(each, credential, request);
      }
      return send(operation, request, signal, options);
    },
  });
}

async function send(
  { method }: Operation,
  { url, headers, body }: ApiRequest,
  signal: AbortSignal,
  { fetch = globalThis.fetch, maxResponseBytes = 1024 * 1024 }: OpenApiToolsOptions,
): Promise<ApiAnswer> {
  let response: Response;
  try {
    response = await fetch(url.href, {
      method: method.toUpperCase(),
      headers,
      redirect: 'manual',
      signal,
      ...(body !== undefined && { body }),
    });
  } catch (cause) {
    signal.throwIfAborted();
    // Only the origin: the query can contain a key.
    throw new LegateError('PEER_UNREACHABLE', `${url.origin} did not answer`, { cause });
  }
  return readAnswer(response, maxResponseBytes);
}
