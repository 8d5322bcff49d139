import type { Caller } from '../agents/index.ts';
import type { AgentSkill } from '../protocol/index.ts';
import type { Authenticator } from './authenticator.ts';

/**
 * The scopes that skills need, by skill id. Skills that are not listed need none.
 * @example const scopes: SkillScopes = { refund: ['orders:write', 'payments'], track: ['orders:read'] };
 */
export type SkillScopes = Readonly<Record<string, readonly string[]>>;

/**
 * The skills for the card, each with the agent's security requirements plus its scopes.
 * @example declareSkillScopes(agent.skills, { refund: ['orders:write'] }, auth);
 */
export function declareSkillScopes(
  skills: readonly AgentSkill[],
  scopes: SkillScopes,
  authenticator: Authenticator,
): readonly AgentSkill[] {
  return skills.map((skill) => {
    const needed = scopesOf(skill.id, scopes);
    const securityRequirements = authenticator.securityRequirements(needed);
    if (needed.length === 0 || securityRequirements === undefined) return skill;
    return { ...skill, securityRequirements };
  });
}

/**
 * The skills that a caller may use, for an extended card or for the agent itself.
 * @example allowedSkills(card.skills, { refund: ['orders:write'] }, caller);
 */
export function allowedSkills(
  skills: readonly AgentSkill[],
  scopes: SkillScopes,
  caller: Caller,
): readonly AgentSkill[] {
  return skills.filter((skill) => {
    const needed = scopesOf(skill.id, scopes);
    return needed.every((scope) => caller.scopes?.includes(scope) === true);
  });
}

/**
 * The scopes that a message needs. A message that names a skill needs the scopes of that skill. Any skill
 * can handle a message without a skill or with an unknown one, so such a message needs the scopes of all
 * skills.
 * @example neededScopes('refund', card.skills, { refund: ['orders:write'] }) // ['orders:write']
 */
export function neededScopes(
  skillId: string | undefined,
  skills: readonly AgentSkill[],
  scopes: SkillScopes,
): readonly string[] {
  const named = skills.filter((skill) => skill.id === skillId);
  const relevant = named.length > 0 ? named : skills;
  return [...new Set(relevant.flatMap((skill) => scopesOf(skill.id, scopes)))];
}

function scopesOf(skillId: string, scopes: SkillScopes): readonly string[] {
  return Object.hasOwn(scopes, skillId) ? (scopes[skillId] ?? []) : [];
}
