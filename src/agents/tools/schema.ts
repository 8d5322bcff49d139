import { createRequire } from 'node:module';
import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  LegateError,
} from '../../protocol/index.ts';
import { findPackage } from '../find-package.ts';

/**
 * Any Standard Schema that knows its JSON Schema, as those of zod and arktype do; for those of valibot,
 * install `@valibot/to-json-schema`.
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
 * What a schema makes of a value.
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
  /** In words that a model can act on. */
  | { readonly ok: false; readonly problem: string };

/** A schema as tools and structured output use it. */
export interface ValueSchema {
  readonly jsonSchema: JsonObject;
  parse(value: JsonValue): Promise<Parsed>;
}

const maxIssues = 5;

/** From a Standard Schema, or from JSON Schema as it is. */
export function valueSchema(source: Schema | JsonObject): ValueSchema {
  if (!isSchema(source)) return fromJsonSchema(source);
  const standard = source['~standard'];
  const { $schema: _, ...jsonSchema } = toJsonSchema(source);
  return {
    jsonSchema: isJsonObject(jsonSchema) ? jsonSchema : {},
    parse: async (value) => toParsed(await standard.validate(value)),
  };
}

/** draft-07 is what models know best. */
function toJsonSchema(source: Schema): Record<string, unknown> {
  const { jsonSchema, vendor = 'unknown' } = source['~standard'];
  if (jsonSchema !== undefined) return jsonSchema.input({ target: 'draft-07' });
  const converter = vendor === 'valibot' ? '@valibot/to-json-schema' : undefined;
  const file = converter === undefined ? undefined : findPackage(converter);
  if (file !== undefined) {
    const { toJsonSchema: convert }: ValibotConverter = createRequire(import.meta.url)(file);
    return convert(source, { target: 'draft-07', typeMode: 'input' });
  }
  throw new LegateError(
    'CONFIGURATION_INVALID',
    converter === undefined
      ? `a schema of ${vendor} does not know its JSON Schema; use zod, arktype or valibot, or JSON Schema`
      : `schemas of ${vendor} need the package ${converter}: npm install ${converter}`,
  );
}

interface ValibotConverter {
  readonly toJsonSchema: (schema: Schema, options: object) => Record<string, unknown>;
}

/** JSON Schema as the AI SDK types it. */
export function toJsonSchema7(schema: JsonObject): LanguageModelV4FunctionTool['inputSchema'] {
  // Models check their schemas themselves.
  return schema;
}

/** Schemas of arktype are functions. */
export function isSchema(source: unknown): source is Schema {
  const isObject = typeof source === 'object' || typeof source === 'function';
  return isObject && source !== null && '~standard' in source;
}

/** JSON Schema is checked as far as zod understands it; loaded when a value is to be checked. */
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
        // A schema from elsewhere that can not be used fails its calls, not the turn.
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
  const { z } = await import('zod');
  // Patterns may come from elsewhere (MCP, OpenAPI), and values from users by way of a model: zod
  // would compile them with RegExp.
  const { splitPatterns } = await import('../../regex/index.ts');
  const { schema, check } = splitPatterns(jsonSchema);
  try {
    return { schema: z.fromJSONSchema(schema), check };
  } catch {
    // Keywords that zod does not support: the receiver of the value checks them.
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
