import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import { z } from 'zod';
import {
  invalidConfiguration,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  LegateError,
} from '../../protocol/index.ts';
import { findPackage } from '../find-package.ts';

/**
 * Any Standard Schema that provides its JSON Schema, such as those of zod and arktype. For schemas of
 * valibot, install `@valibot/to-json-schema`.
 * @example
 * import { z } from 'zod';
 * const stay: Schema<{ city: string; nights: number }> = z.object({
 *   city: z.string().min(1),
 *   nights: z.number().int().max(30),
 * });
 */
export interface Schema<T = unknown> {
  readonly '~standard': {
    readonly vendor?: string;
    validate(value: unknown): SchemaResult<T> | Promise<SchemaResult<T>>;
    readonly types?: { readonly input: unknown; readonly output: T } | undefined;
    readonly jsonSchema?: {
      input(options: { readonly target: 'draft-07' }): Record<string, unknown>;
      output(options: { readonly target: 'draft-07' }): Record<string, unknown>;
    };
  };
}

type SchemaResult<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/**
 * The output type of a schema.
 * @example
 * import { z } from 'zod';
 * const stay = z.object({ city: z.string(), nights: z.number().default(1) });
 * const priceOf = ({ nights }: OutputOf<typeof stay>) => nights * 90;
 */
export type OutputOf<S> = S extends {
  readonly '~standard': { readonly types?: infer Types };
}
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : unknown
  : JsonObject;

export type Parsed<T = unknown> =
  | { readonly ok: true; readonly value: T }
  /** `problem` is a text that a model can act on. */
  | { readonly ok: false; readonly problem: string };

/** A schema in the form that tools and structured output use. */
export interface ValueSchema {
  readonly jsonSchema: JsonObject;
  parse(value: JsonValue): Promise<Parsed>;
}

const maxIssues = 5;

/** Converts a Standard Schema or a JSON Schema. `what` names it in errors. */
export function valueSchema(source: Schema | JsonObject, what = 'a schema'): ValueSchema {
  if (!isSchema(source)) return fromJsonSchema(source);
  const standard = source['~standard'];
  const { $schema: _, ...jsonSchema } = toJsonSchema(source, what);
  return {
    jsonSchema: isJsonObject(jsonSchema) ? jsonSchema : {},
    parse: async (value) => toParsed(await standard.validate(value)),
  };
}

/** Models support draft-07 best. */
function toJsonSchema(source: Schema, what: string): Record<string, unknown> {
  const { jsonSchema, vendor = 'unknown' } = source['~standard'];
  if (jsonSchema !== undefined) return jsonSchema.input({ target: 'draft-07' });
  // The first versions of zod 4 convert by a function, which accepts schemas of any copy of zod.
  if (isZod4(source)) return z.toJSONSchema(source, { target: 'draft-7', io: 'input' });
  if (vendor === 'zod') throw oldZod(what);
  const converter = vendor === 'valibot' ? '@valibot/to-json-schema' : undefined;
  const file = converter === undefined ? undefined : findPackage(converter);
  if (file !== undefined) {
    const { toJsonSchema: convert }: ValibotConverter = createRequire(import.meta.url)(file);
    return convert(source, { target: 'draft-07', typeMode: 'input' });
  }
  throw invalidConfiguration(
    converter === undefined
      ? `${what} is a schema of ${vendor}, which does not know its JSON Schema; use zod 4, arktype or valibot, or JSON Schema`
      : `${what} is a schema of ${vendor}, which needs the package ${converter}: npm install ${converter}`,
  );
}

function isZod4(source: object): source is z.core.$ZodType {
  return '_zod' in source;
}

/** Schemas of zod 3 do not provide a JSON Schema. zod 3.25 and zod 4 contain both versions. */
function oldZod(what: string): LegateError {
  const file = findPackage('zod/package.json');
  const read: unknown = file === undefined ? {} : JSON.parse(readFileSync(file, 'utf8'));
  const version = isJsonObject(read) && typeof read['version'] === 'string' ? read['version'] : '';
  const [major, minor] = version.split('.').map(Number);
  const fix =
    major === 4
      ? "write import { z } from 'zod' in place of 'zod/v3'"
      : major === 3 && (minor ?? 0) >= 25
        ? "write import { z } from 'zod/v4', or run npm install zod@4"
        : 'run npm install zod@4';
  return invalidConfiguration(
    `${what} is a schema of zod 3${version === '' ? '' : ` (zod ${version} is installed)`}, which does not know its JSON Schema; ${fix}`,
  );
}

interface ValibotConverter {
  readonly toJsonSchema: (schema: Schema, options: object) => Record<string, unknown>;
}

/** Returns a JSON Schema with the type of the AI SDK. */
export function toJsonSchema7(schema: JsonObject): LanguageModelV4FunctionTool['inputSchema'] {
  // The providers of models validate the schemas.
  return schema;
}

/**
 * Throws for values that cannot be a schema: text, lists, and objects that are not schemas but contain
 * some.
 */
export function checkSchema(what: string, source: unknown): asserts source is Schema | JsonObject {
  if (isSchema(source)) return;
  if (isOldZod(source)) throw oldZod(what);
  if (!isJsonObject(source))
    throw invalidConfiguration(
      `${what} is not a schema; pass one of zod, valibot or arktype, or JSON Schema`,
    );
  const name = schemaIn(source, 2);
  if (name !== undefined)
    throw invalidConfiguration(
      `${what} is an object with a schema in it ("${name}"); make a schema of the whole: z.object({ ${name}: ... })`,
    );
}

/** The name of a property that is, or contains, a schema of a library. */
function schemaIn(source: object, depth: number): string | undefined {
  return Object.entries(source).find(
    ([, value]) =>
      isSchema(value) ||
      isOldZod(value) ||
      (depth > 0 && isJsonObject(value) && schemaIn(value, depth - 1) !== undefined),
  )?.[0];
}

/** Whether this is a schema of zod before 3.24, which does not implement Standard Schema. */
function isOldZod(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    '_def' in value &&
    'safeParse' in value &&
    !('~standard' in value)
  );
}

/** Schemas of arktype are functions. */
export function isSchema(source: unknown): source is Schema {
  const isObject = typeof source === 'object' || typeof source === 'function';
  return isObject && source !== null && '~standard' in source;
}

/** Validates with JSON Schema, as far as zod supports it. The validator is created with the first value. */
function fromJsonSchema(jsonSchema: JsonObject): ValueSchema {
  let validator: Promise<Validator> | undefined;
  return {
    jsonSchema,
    parse: async (value) => {
      validator ??= toValidator(jsonSchema);
      let checks: Validator;
      try {
        checks = await validator;
      } catch (error) {
        // An invalid schema from a server fails its calls, not the turn.
        if (error instanceof LegateError) return { ok: false, problem: error.message };
        throw error;
      }
      const { schema, check } = checks;
      const problem = check(value);
      if (problem !== undefined) return { ok: false, problem };
      if (schema === undefined) return { ok: true, value };
      return toParsed(await schema['~standard'].validate(value));
    },
  };
}

interface Validator {
  readonly schema: Schema | undefined;
  readonly check: (value: JsonValue) => string | undefined;
}

async function toValidator(jsonSchema: JsonObject): Promise<Validator> {
  // Patterns can come from servers (MCP, OpenAPI), and values from users through a model. zod would
  // compile the patterns with RegExp.
  const { splitPatterns } = await import('../../regex/index.ts');
  const { schema, check } = splitPatterns(jsonSchema);
  try {
    return { schema: z.fromJSONSchema(schema), check };
  } catch {
    // zod does not support some keywords: the receiver of the value validates them.
    return { schema: undefined, check };
  }
}

function toParsed(result: SchemaResult<unknown>): Parsed {
  if (result.issues === undefined) return { ok: true, value: result.value };
  const shown = result.issues.slice(0, maxIssues).map((issue) => {
    const path = (issue.path ?? [])
      .map((part) => String(typeof part === 'object' ? part.key : part))
      .join('.');
    return path === '' ? issue.message : `${path}: ${issue.message}`;
  });
  const more = result.issues.length - shown.length;
  return { ok: false, problem: shown.join('; ') + (more > 0 ? ` (and ${more} more)` : '') };
}
