import type { JsonObject } from '../../protocol/index.ts';
import type { TaskRecord } from '../../store/index.ts';
import type { Inspection } from './inspection.ts';
import type { CallsView, SubAgentView } from './network.ts';
import type { InspectedAgent } from './options.ts';
import { ownerView } from './owner-view.ts';

/** Conversations whose calls are counted, the latest; and the entries of each that are read. */
const maxContexts = 20;
const maxEntries = 200;

/** Those that the assistants here name: others by their cards, and those that are part of them. */
export function subAgents({ agents }: Pick<Inspection, 'agents'>): readonly SubAgentView[] {
  return agents.flatMap(subAgentsOf);
}

function subAgentsOf({ name: caller, assistant }: InspectedAgent): readonly SubAgentView[] {
  const project = assistant?.models.current?.project;
  if (project === undefined) return [];
  return Array.from(project.subAgents.values(), (one) => {
    const { name, description } = one;
    const view = { id: idOf(caller, name), name, description, caller };
    if (one.protocol !== 'A2A') {
      return { ...view, kind: one.module === undefined ? 'model' : 'code' } as const;
    }
    const card = cardIn(project.files.get(one.agentCard));
    const isAddress = /^https?:\/\//i.test(one.agentCard);
    return {
      ...view,
      kind: 'A2A',
      ...(isAddress && { address: one.agentCard }),
      ...(card !== undefined && { card }),
    } as const;
  });
}

function idOf(caller: string, name: string): string {
  return `sub agent ${caller} ${name}`;
}

function cardIn(text: string | undefined): JsonObject | undefined {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as JsonObject;
  } catch {
    // Whoever loads the project says what is wrong with it.
    return undefined;
  }
}

/** How often assistants called their sub agents, by the logs of the conversations of these tasks. */
export async function subAgentCalls(
  { agents, store }: Pick<Inspection, 'agents' | 'store'>,
  tasks: readonly Pick<TaskRecord, 'owner' | 'contextId'>[],
): Promise<readonly CallsView[]> {
  const callers = new Set(
    agents.filter((one) => subAgentsOf(one).length > 0).map((one) => one.name),
  );
  const contexts = new Map<string, Pick<TaskRecord, 'owner' | 'contextId'>>();
  for (const { owner, contextId } of tasks) {
    if (contexts.size >= maxContexts) break;
    if (callers.has(ownerView(owner).agent)) {
      contexts.set(JSON.stringify([owner, contextId]), { owner, contextId });
    }
  }
  const calls = new Map<string, CallsView>();
  for (const { owner, contextId } of contexts.values()) {
    const from = ownerView(owner).agent;
    for (const { value } of await store.readContextLog(owner, contextId, maxEntries)) {
      const { event, agent_id: agent, timestamp } = value as JsonObject;
      if (event !== 'agent_started' || typeof agent !== 'string') continue;
      const to = idOf(from, agent);
      const before = calls.get(to);
      const at = typeof timestamp === 'number' ? timestamp * 1_000 : 0;
      const lastAt = Math.max(before?.lastAt ?? 0, at);
      calls.set(to, { from, to, count: (before?.count ?? 0) + 1, failed: 0, lastAt });
    }
  }
  return [...calls.values()];
}
