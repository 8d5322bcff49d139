import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/index.ts';
import type { SchemaResolver } from './resolve-schema.ts';

const methods = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options'] as const;
export type Method = (typeof methods)[number];
type Location = 'path' | 'query' | 'header' | 'cookie';
const locations: readonly string[] = ['path', 'query', 'header', 'cookie'];

/** A value of the input that goes into the request, and where. */
export interface Parameter {
  /** In the tool's input. */
  readonly key: string;
  /** In the request. */
  readonly name: string;
  readonly location: Location;
  readonly isRequired: boolean;
  readonly isDeepObject: boolean;
  readonly schema: JsonObject;
}

export type BodyKind = 'application/json' | 'application/x-www-form-urlencoded' | 'text/plain';

/** One operation of an API, ready to be a tool. */
export interface Operation {
  readonly name: string;
  readonly description: string;
  readonly method: Method;
  /** With `{parameters}` in it. */
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body: { readonly kind: BodyKind; readonly isRequired: boolean } | undefined;
  readonly inputSchema: JsonObject;
  /** Alternatives of schemes with their scopes. Empty: none is needed. */
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  /** The operation's own server, if it has one. */
  readonly server: string | undefined;
}

/** All operations of a document that can be called with plain values. */
export function readOperations(
  document: JsonObject,
  resolver: SchemaResolver,
): readonly Operation[] {
  const paths = isJsonObject(document['paths']) ? Object.entries(document['paths']) : [];
  return paths.flatMap(([path, value]) => {
    const item = resolver.follow(value);
    if (item === undefined || !path.startsWith('/')) return [];
    return methods.flatMap((method) => {
      const operation = resolver.follow(item[method]);
      if (operation === undefined) return [];
      const read = readOperation({ document, item, operation, path, method }, resolver);
      return read === undefined ? [] : [read];
    });
  });
}

interface Found {
  readonly document: JsonObject;
  readonly item: JsonObject;
  readonly operation: JsonObject;
  readonly path: string;
  readonly method: Method;
}

function readOperation(found: Found, resolver: SchemaResolver): Operation | undefined {
  const { document, item, operation, path, method } = found;
  const body = readBody(operation, resolver);
  // A body of a kind that cannot be made from plain values: files, as a rule.
  if (body === 'unsupported') return undefined;
  const parameters = readParameters(
    [...list(item['parameters']), ...list(operation['parameters'])],
    resolver,
  );
  const properties: [string, JsonObject][] = parameters.map(({ key, schema }) => [key, schema]);
  const required = parameters.filter(({ isRequired }) => isRequired).map(({ key }) => key);
  if (body !== undefined) {
    properties.push(['body', body.schema]);
    if (body.isRequired) required.push('body');
  }
  const { operationId, summary, description } = operation;
  const words = [summary, description].filter(
    (each): each is string => typeof each === 'string' && each !== '',
  );
  return {
    name: nameOf(typeof operationId === 'string' ? operationId : `${method}_${path}`),
    description: words.length > 0 ? words.join('\n') : `${method.toUpperCase()} ${path}`,
    method,
    path,
    parameters,
    body: body && { kind: body.kind, isRequired: body.isRequired },
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries(properties),
      ...(required.length > 0 && { required }),
      additionalProperties: false,
    },
    security: readSecurity(operation['security'] ?? document['security']),
    server: serverIn(operation) ?? serverIn(item),
  };
}

function readParameters(
  values: readonly JsonValue[],
  resolver: SchemaResolver,
): readonly Parameter[] {
  // An operation's own parameter goes before the path's of the same name and place.
  const found = new Map<string, Omit<Parameter, 'key'>>();
  for (const value of values) {
    const parameter = resolver.follow(value);
    const { name, in: location, description } = parameter ?? {};
    if (parameter === undefined || typeof name !== 'string' || !isLocation(location)) continue;
    if (location === 'header' && /^(?:accept|content-type|authorization)$/i.test(name)) continue;
    const media = isJsonObject(parameter['content'])
      ? Object.values(parameter['content'])[0]
      : undefined;
    const source = parameter['schema'] ?? (isJsonObject(media) ? media['schema'] : undefined);
    const schema = resolver.schema(source);
    found.set(`${location} ${name}`, {
      name,
      location,
      isRequired: location === 'path' || parameter['required'] === true,
      isDeepObject: parameter['style'] === 'deepObject',
      schema: typeof description === 'string' ? { description, ...schema } : schema,
    });
  }
  const taken = new Set(['body']);
  return [...found.values()].map((parameter) => {
    const key = taken.has(parameter.name)
      ? `${parameter.name}_${parameter.location}`
      : parameter.name;
    taken.add(key);
    return { ...parameter, key };
  });
}

function readBody(
  operation: JsonObject,
  resolver: SchemaResolver,
): { kind: BodyKind; isRequired: boolean; schema: JsonObject } | 'unsupported' | undefined {
  const body = resolver.follow(operation['requestBody']);
  const content = body?.['content'];
  if (body === undefined || !isJsonObject(content)) return undefined;
  const isRequired = body['required'] === true;
  for (const [type, media] of Object.entries(content)) {
    const kind = bodyKindOf(type);
    if (kind === undefined) continue;
    const schema = resolver.schema(isJsonObject(media) ? media['schema'] : undefined);
    return { kind, isRequired, schema };
  }
  return isRequired ? 'unsupported' : undefined;
}

function bodyKindOf(mediaType: string): BodyKind | undefined {
  const type = mediaType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (type === 'application/json' || type.endsWith('+json')) return 'application/json';
  if (type === 'application/x-www-form-urlencoded' || type === 'text/plain') return type;
  return undefined;
}

function readSecurity(value: JsonValue | undefined): Operation['security'] {
  return list(value).flatMap((each) => {
    if (!isJsonObject(each)) return [];
    const schemes = Object.entries(each).map(([name, scopes]): [string, readonly string[]] => [
      name,
      list(scopes).filter((scope) => typeof scope === 'string'),
    ]);
    return [Object.fromEntries(schemes)];
  });
}

/** The first server of a document, a path or an operation, with its variables at their defaults. */
export function serverIn(holder: JsonObject): string | undefined {
  const server = list(holder['servers'])[0];
  if (!isJsonObject(server) || typeof server['url'] !== 'string') return undefined;
  const variables = isJsonObject(server['variables']) ? server['variables'] : {};
  return server['url'].replaceAll(/\{([^}]+)\}/g, (whole, name: string) => {
    const variable = Object.hasOwn(variables, name) ? variables[name] : undefined;
    const value = isJsonObject(variable) ? variable['default'] : undefined;
    return typeof value === 'string' ? value : whole;
  });
}

function isLocation(value: JsonValue | undefined): value is Location {
  return typeof value === 'string' && locations.includes(value);
}

function list(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

/** `listUserPets` becomes `list_user_pets`. */
function nameOf(id: string): string {
  const snake = id
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
    .toLowerCase()
    .slice(0, 60);
  return /^[a-z]/.test(snake) ? snake : `call_${snake}`;
}
