import type { AgentSkill } from '../../protocol/index.ts';
import type { Flow } from '../model.ts';

/**
 * What the card promises: each flow that a user can start, and the patterns of conversation repair
 * when they are offered. A flow whose guard is `false` is only reached through others.
 * @example const skills = skillsOf(assistant.flows, { includeConversationRepair: false });
 */
export function skillsOf(
  flows: ReadonlyMap<string, Flow>,
  options: { readonly includeConversationRepair: boolean },
): readonly AgentSkill[] {
  const all = [...flows.values()];
  const own = all.filter((flow) => !flow.isPattern && !isHidden(flow));
  const patterns = options.includeConversationRepair ? all.filter((flow) => flow.isPattern) : [];
  return [...own, ...patterns].map((flow) => ({
    id: flow.id,
    name: flow.name,
    description: flow.description || flow.name,
    tags: [flow.isPattern ? 'conversation-repair' : 'flow'],
    ...(flow.examples.length > 0 && { examples: flow.examples }),
  }));
}

function isHidden(flow: Flow): boolean {
  return flow.if !== undefined && /^\s*false\s*$/i.test(flow.if);
}
