import type { Field, Problems, Section } from '../../config/index.ts';
import type { JsonObject } from '../../protocol/index.ts';
import { compileCondition, type Condition } from '../conditions/condition.ts';
import type { Domain, Flow, Rejection } from '../model.ts';

/**
 * A name or a condition as a project uses it, with its place. Loaders note uses while they read;
 * whether each leads somewhere is known once everything is loaded.
 */
export type Use = {
  readonly field: Field;
  /** The flow in which it stands. */
  readonly flow?: string;
} & (
  | {
      readonly kind: 'slot';
      readonly name: string;
      readonly as: 'collect' | 'set_slots' | 'persisted_slots' | 'mapping' | 'meta_map';
      /** Of a collect step: the response that asks, when the step names one. */
      readonly utter?: string;
    }
  | { readonly kind: 'response'; readonly name: string }
  | { readonly kind: 'action'; readonly name: string }
  | { readonly kind: 'condition'; readonly text: string }
  /** The description of a collect step, which may hold a pattern. */
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
      /** A model that is described where it is used: a group of its own. */
      readonly inline?: JsonObject;
      /** What happens when no model of the group can be asked. */
      readonly instead: string;
    }
  | { readonly kind: 'mcp_server'; readonly name: string }
  | {
      readonly kind: 'file';
      /** Where to look first; the same file has the same key. */
      readonly key: string;
      /** As it is written. */
      readonly path: string;
      readonly as: 'template' | 'card';
    }
);

/** A condition: a text, or one of the words true and false. */
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

/** The name of a response, noted as used. */
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

/** One of `rejections:`, of a slot or of a collect step. */
export function readRejection(section: Section, uses: Use[], flow?: string): Rejection | undefined {
  const condition = readCondition(section.require('if'), uses, flow);
  const utter = readResponseName(section.require('utter'), uses, flow);
  return condition === undefined || utter === undefined ? undefined : { if: condition, utter };
}

/** All that names can lead to. */
export interface ValidationScope {
  readonly domain: Domain;
  readonly flows: ReadonlyMap<string, Flow>;
  /** Where the project's own flows stand; default patterns have no entry. */
  readonly fields: ReadonlyMap<string, Field>;
  /** Ids of the default patterns. */
  readonly patterns: ReadonlySet<string>;
  readonly uses: readonly Use[];
  /** Names of sub agents, and where each is defined. */
  readonly agents: ReadonlyMap<string, Field>;
  readonly mcpServers: ReadonlySet<string>;
  /** Names of `peers.well_known` in endpoints.yml. */
  readonly peers: ReadonlySet<string>;
  /** False when a file could not be read: then unknown names may stand there. */
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
