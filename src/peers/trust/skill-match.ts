import type { Turn } from '../../agents/index.ts';
import type { AgentSkill, JsonObject } from '../../protocol/index.ts';
import { rank } from '../../search/index.ts';
import { foldName } from '../directory/fold-name.ts';

/**
 * Other names of skills, by their ids.
 * @example const aliases: SkillAliases = { 'negotiate-meeting': ['schedule', 'book-meeting'] };
 */
export type SkillAliases = Readonly<Record<string, readonly string[]>>;

/** How a name is matched. */
export interface SkillMatchOptions {
  readonly aliases?: SkillAliases;
  /** Also matches the descriptions of skills. @default true */
  readonly searches?: boolean;
}

/** The maximum score of the second best match, relative to the best. */
const margin = 0.3;
/** The minimum fit of the best match. */
const minFit = 0.5;

/**
 * The skill that a name refers to: by its id in any case, by an alias, or by a search where one skill
 * matches clearly better than any other. Undefined unless the match is unambiguous.
 * @example matchSkill(card.skills, 'schedule', { aliases: { 'negotiate-meeting': ['schedule'] } })
 */
export function matchSkill(
  skills: readonly AgentSkill[],
  wanted: string,
  options: SkillMatchOptions = {},
): AgentSkill | undefined {
  const { aliases = {}, searches = true } = options;
  const folded = foldName(wanted.trim());
  const exact = skills.find(({ id }) => foldName(id) === folded);
  if (exact !== undefined) return exact;
  const byAlias = skills.find(({ id }) =>
    aliasesOf(aliases, id).some((name) => foldName(name) === folded),
  );
  if (byAlias !== undefined || !searches) return byAlias;
  const [best, second] = rank(wanted, skills, ({ id, name, description }) =>
    [id, ...aliasesOf(aliases, id), name, description].join(' \n '),
  );
  if (best === undefined || best.fit < minFit) return undefined;
  return second === undefined || second.relative <= margin ? best.document : undefined;
}

function aliasesOf(aliases: SkillAliases, id: string): readonly string[] {
  return Object.hasOwn(aliases, id) ? (aliases[id] ?? []) : [];
}

/**
 * The skill that a turn names, in its message or its request; a turn that continues a task has the
 * skill that the task started with.
 * @example const skill = (await namedSkill(turn)) ?? 'echo';
 */
export async function namedSkill(turn: Turn): Promise<string | undefined> {
  const own = skillOf(turn.message.metadata) ?? skillOf(turn.metadata);
  if (own !== undefined || !turn.isContinuation) return own;
  for (const { metadata } of await turn.history()) {
    const earlier = skillOf(metadata);
    if (earlier !== undefined) return earlier;
  }
  return undefined;
}

function skillOf(metadata: JsonObject | undefined): string | undefined {
  for (const value of [metadata?.skillId, metadata?.skill]) {
    if (typeof value === 'string' && value !== '') return value;
  }
  return undefined;
}
