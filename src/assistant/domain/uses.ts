import type { Field, Problems, Section } from '../../config/index.ts';
import type { JsonObject } from '../../protocol/index.ts';
import { compileCondition, type Condition } from '../conditions/condition.ts';
import type { Domain, Flow, Rejection } from '../model.ts';

/**
 * A use of a name or a condition in a project, with its position. Loaders record uses while they read
 * files. `validate` checks them after everything is loaded.
 */
export type Use = {
  readonly field: Field;
  /** The flow that contains the use. */
  readonly flow?: string;
} & (
  | {
      readonly kind: 'slot';
      readonly name: string;
      readonly as: 'collect' | 'set_slots' | 'persisted_slots' | 'mapping' | 'meta_map';
      /** The response that asks, if a collect step names one. */
      readonly utter?: string;
    }
  | { readonly kind: 'response'; readonly name: string }
  | { readonly kind: 'action'; readonly name: string }
  | { readonly kind: 'condition'; readonly text: string }
  /** The description of a collect step, which can contain a regular expression. */
  | { readonly kind: 'description'; readonly text: string }
  | { readonly kind: 'link'; readonly name: string }
  | {
      readonly kind: 'call';
      readonly name: string;
      readonly server: string | undefined;
      readonly hasExit: boolean;
    }
  | {
      readonly kind: 'model_group';
      readonly name: string;
      /** A model that is configured inline, as a group of its own. */
      readonly inline?: JsonObject;
      /** What happens without a model of the group, for messages. */
      readonly instead: string;
    }
  | { readonly kind: 'mcp_server'; readonly name: string }
  | {
      readonly kind: 'file';
      /** The path to try first. Equal files have equal keys. */
      readonly key: string;
      /** The path as written. */
      readonly path: string;
      readonly as: 'template' | 'card';
    }
);

/** Reads a condition: a text, or the boolean true or false. */
export function readCondition(
  field: Field | undefined,
  uses: Use[],
  flow?: string,
): string | undefined {
  if (field === undefined) return undefined;
  const text = typeof field.value === 'boolean' ? String(field.value) : field.name();
  if (text === undefined) return undefined;
  parseCondition(field, text);
  uses.push({ kind: 'condition', text, field, ...(flow !== undefined && { flow }) });
  return text;
}

/** Reports a condition that can't be parsed. */
export function parseCondition(field: Field, text: string): Condition | undefined {
  return field.attempt(() => compileCondition(text), 'cannot be read as a condition: ');
}

/** Reads the name of a response and records the use. */
export function readResponseName(
  field: Field | undefined,
  uses: Use[],
  flow?: string,
): string | undefined {
  const name = field?.name();
  if (field === undefined || name === undefined) return undefined;
  uses.push({ kind: 'response', name, field, ...(flow !== undefined && { flow }) });
  return name;
}

/** Reads an entry of `rejections:` of a slot or a collect step. */
export function readRejection(section: Section, uses: Use[], flow?: string): Rejection | undefined {
  const condition = readCondition(section.require('if'), uses, flow);
  const utter = readResponseName(section.require('utter'), uses, flow);
  return condition === undefined || utter === undefined ? undefined : { if: condition, utter };
}

/** Everything that names can refer to. */
export interface ValidationScope {
  readonly domain: Domain;
  readonly flows: ReadonlyMap<string, Flow>;
  /** The fields of the project's own flows; default patterns have no entry. */
  readonly fields: ReadonlyMap<string, Field>;
  /** Ids of the default patterns. */
  readonly patterns: ReadonlySet<string>;
  readonly uses: readonly Use[];
  /** The fields of sub agents by name. */
  readonly agents: ReadonlyMap<string, Field>;
  readonly mcpServers: ReadonlySet<string>;
  /** Names of `peers.well_known` in endpoints.yml. */
  readonly peers: ReadonlySet<string>;
  /** False if a file could not be read: it may define unknown names. */
  readonly isComplete: boolean;
  readonly problems: Problems;
}

/** Uses of one kind. */
export function usesOf<K extends Use['kind']>(
  scope: ValidationScope,
  kind: K,
): readonly Extract<Use, { kind: K }>[] {
  return scope.uses.filter((use): use is Extract<Use, { kind: K }> => use.kind === kind);
}
