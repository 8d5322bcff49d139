import { z } from 'zod';
import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import { json } from '../stored.ts';
import type { SchemaResolver } from './resolve-schema.ts';

/** Fields that do not follow OpenAPI are ignored. */
const text = z.string().optional().catch(undefined);
const flag = z.boolean().catch(false);
const list = z.array(json).catch([]);
const byName = z.record(z.string(), json).catch({});
const content = z.record(z.string(), z.object({ schema: json.optional() }).catch({})).catch({});

const servers = z
  .array(
    z.object({
      url: z.string(),
      variables: z.record(z.string(), z.object({ default: text }).catch({})).catch({}),
    }),
  )
  .catch([]);
const security = z
  .array(z.record(z.string(), z.array(z.string()).catch([])))
  .optional()
  .catch(undefined);

/** The document. Path items and operations repeat some of its fields. */
export const apiDocument = z.object({
  openapi: z.string().startsWith('3.'),
  info: z.object({ title: text }).catch({}),
  paths: byName,
  components: z.object({ securitySchemes: byName }).catch({ securitySchemes: {} }),
  servers,
  security,
});
export type ApiDocument = z.infer<typeof apiDocument>;

const methods = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options'] as const;
const pathItem = z.object({ parameters: list, servers });
const apiOperation = pathItem.extend({
  operationId: text,
  summary: text,
  description: text,
  requestBody: json.optional(),
  security,
});
const apiParameter = z.object({
  name: z.string(),
  in: z.enum(['path', 'query', 'header', 'cookie']),
  description: text,
  required: flag,
  style: text,
  schema: json.optional(),
  content,
});
const apiBody = z.object({ required: flag, content });

/** A value of the tool's input, and its place in the request. */
export interface Parameter {
  /** The name in the tool's input. */
  readonly key: string;
  /** The name in the request. */
  readonly name: string;
  readonly location: z.infer<typeof apiParameter>['in'];
  readonly isRequired: boolean;
  readonly isDeepObject: boolean;
  readonly schema: JsonObject;
}

type BodyKind = 'application/json' | 'application/x-www-form-urlencoded' | 'text/plain';

/** One operation of an API, ready to be a tool. */
export interface Operation {
  readonly name: string;
  readonly description: string;
  readonly method: (typeof methods)[number];
  /** Contains `{parameters}`. */
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly bodyKind: BodyKind | undefined;
  readonly inputSchema: JsonObject;
  /** Alternative sets of schemes with their scopes; empty if none is needed. */
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  /** The operation's own server, its path's or the document's. */
  readonly server: string | undefined;
}

/** An operation whose parameters and schemas have not been read. */
export interface ListedOperation {
  readonly name: string;
  readonly method: (typeof methods)[number];
  readonly path: string;
  readonly shared: z.infer<typeof pathItem>;
  readonly operation: z.infer<typeof apiOperation>;
}

/** All operations of a document. */
export function listOperations(
  document: ApiDocument,
  resolver: SchemaResolver,
): readonly ListedOperation[] {
  return Object.entries(document.paths).flatMap(([path, value]) => {
    const item = resolver.follow(value);
    if (item === undefined || !path.startsWith('/')) return [];
    const shared = pathItem.parse(item);
    return methods.flatMap((method): readonly ListedOperation[] => {
      const found = resolver.follow(item[method]);
      if (found === undefined) return [];
      const operation = apiOperation.parse(found);
      const name = nameOf(operation.operationId ?? `${method}_${path}`);
      return [{ name, method, path, shared, operation }];
    });
  });
}

/** Reads an operation; undefined if it cannot be called with plain values. */
export function readOperation(
  { name, method, path, shared, operation }: ListedOperation,
  document: ApiDocument,
  resolver: SchemaResolver,
): Operation | undefined {
  const body = readBody(operation.requestBody, resolver);
  // Skip bodies that cannot be built from plain values, usually files.
  if (body === 'unsupported') return undefined;
  const parameters = readParameters([...shared.parameters, ...operation.parameters], resolver);
  const { summary, description } = operation;
  const lines = [summary, description].filter((each) => each !== undefined && each !== '');
  return {
    name,
    description: lines.length > 0 ? lines.join('\n') : `${method.toUpperCase()} ${path}`,
    method,
    path,
    parameters,
    bodyKind: body?.kind,
    inputSchema: inputSchemaOf(parameters, body),
    security: operation.security ?? document.security ?? [],
    server: serverIn(operation) ?? serverIn(shared) ?? serverIn(document),
  };
}

function inputSchemaOf(parameters: readonly Parameter[], body: Body | undefined): JsonObject {
  const properties = parameters.map(({ key, schema }) => [key, schema] as const);
  const required = parameters.filter(({ isRequired }) => isRequired).map(({ key }) => key);
  if (body?.isRequired === true) required.push('body');
  return {
    type: 'object',
    properties: { ...Object.fromEntries(properties), ...(body && { body: body.schema }) },
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

function readParameters(
  values: readonly JsonValue[],
  resolver: SchemaResolver,
): readonly Parameter[] {
  // An operation's own parameter replaces the path's of the same name and location.
  const found = new Map<string, Omit<Parameter, 'key'>>();
  for (const value of values) {
    const read = apiParameter.safeParse(resolver.follow(value));
    if (!read.success) continue;
    const { name, in: location, description, required, style } = read.data;
    if (location === 'header' && /^(?:accept|content-type|authorization)$/i.test(name)) continue;
    const schema = resolver.schema(read.data.schema ?? Object.values(read.data.content)[0]?.schema);
    found.set(`${location} ${name}`, {
      name,
      location,
      isRequired: location === 'path' || required,
      isDeepObject: style === 'deepObject',
      schema: description === undefined ? schema : { description, ...schema },
    });
  }
  const taken = new Set(['body']);
  return [...found.values()].map((parameter) => {
    const { name, location } = parameter;
    const key = taken.has(name) ? `${name}_${location}` : name;
    taken.add(key);
    return { ...parameter, key };
  });
}

interface Body {
  readonly kind: BodyKind;
  readonly isRequired: boolean;
  readonly schema: JsonObject;
}

function readBody(
  value: JsonValue | undefined,
  resolver: SchemaResolver,
): Body | 'unsupported' | undefined {
  const body = resolver.follow(value);
  if (body === undefined) return undefined;
  const { required: isRequired, content: kinds } = apiBody.parse(body);
  for (const [type, { schema }] of Object.entries(kinds)) {
    const kind = bodyKindOf(type);
    if (kind !== undefined) return { kind, isRequired, schema: resolver.schema(schema) };
  }
  return isRequired && Object.keys(kinds).length > 0 ? 'unsupported' : undefined;
}

function bodyKindOf(mediaType: string): BodyKind | undefined {
  const type = mediaType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (type === 'application/json' || type.endsWith('+json')) return 'application/json';
  if (type === 'application/x-www-form-urlencoded' || type === 'text/plain') return type;
  return undefined;
}

/** The first server, with its variables at their defaults. */
function serverIn({ servers: [server] }: Pick<ApiDocument, 'servers'>): string | undefined {
  return server?.url.replaceAll(/\{([^}]+)\}/g, (whole, name: string) =>
    Object.hasOwn(server.variables, name) ? (server.variables[name]?.default ?? whole) : whole,
  );
}

/** Converts `listUserPets` to `list_user_pets`. */
function nameOf(id: string): string {
  const snake = id
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
    .toLowerCase()
    .slice(0, 60);
  return /^[a-z]/.test(snake) ? snake : `call_${snake}`;
}
