import type { Field, Problems } from '../../../config/index.ts';
import type { Use } from '../../domain/uses.ts';
import type { Domain, Flow } from '../../model.ts';

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
  readonly modelGroups: ReadonlySet<string>;
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
