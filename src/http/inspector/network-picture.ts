import { isJsonObject } from '../../protocol/index.ts';
import type { TaskRecord } from '../../store/index.ts';
import type { Inspection } from './inspection.ts';
import type { CallsView, NetworkNode, NetworkPicture, SubAgentView } from './network.ts';
import { ownerView } from './task-summary.ts';

/** Tasks and deliveries that are counted: the latest. */
const maxTasks = 500;
const maxDeliveries = 500;

type Counts = { -readonly [K in keyof CallsView]: CallsView[K] };

/**
 * Who calls whom: callers and our agents by their tasks, webhooks by what is owed, sub agents by the
 * logs of conversations, peers by the provider.
 */
export async function networkPicture(inspection: Inspection): Promise<NetworkPicture> {
  const { agent: ours, service, store, network } = inspection;
  const nodes = new Map<string, NetworkNode>();
  const calls = new Map<string, Counts>();
  const { name: shown, description: detail } = service.cards.current;
  nodes.set(ours, { id: ours, kind: 'agent', name: shown, detail });
  const count = (from: string, to: string, hasFailed: boolean, at: number): void => {
    const key = JSON.stringify([from, to]);
    const entry = calls.get(key) ?? { from, to, count: 0, failed: 0, lastAt: 0 };
    entry.count += 1;
    if (hasFailed) entry.failed += 1;
    entry.lastAt = Math.max(entry.lastAt ?? 0, at);
    calls.set(key, entry);
  };
  const tasks = await store.list({ limit: maxTasks });
  for (const { owner, state, statusTime } of tasks.records) {
    const { agent, tenant, subject, key } = ownerView(owner);
    const id = `caller ${key}`;
    const name = subject === '' ? 'anonymous' : subject;
    nodes.set(id, { id, kind: 'caller', name, ...(tenant !== '' && { detail: tenant }) });
    const hasFailed = state === 'TASK_STATE_FAILED' || state === 'TASK_STATE_REJECTED';
    count(id, agent, hasFailed, statusTime);
  }
  const owned = new Map(tasks.records.map(({ id, owner }) => [id, ownerView(owner).agent]));
  for (const { taskId, push, state, nextAttemptAt } of await store.push.deliveries({
    limit: maxDeliveries,
  })) {
    const agent = owned.get(taskId);
    if (agent === undefined) continue;
    const { host } = new URL(push.config.url);
    const id = `webhook ${host}`;
    nodes.set(id, { id, kind: 'webhook', name: host });
    // One that waits was tried before, and is due later.
    count(agent, id, state === 'dead', Math.min(nextAttemptAt, inspection.now()));
  }
  for (const { id, name, description, caller } of subAgents(inspection)) {
    nodes.set(id, { id, kind: 'sub-agent', name, detail: description });
    // Not called yet, and yet it belongs to its assistant.
    calls.set(JSON.stringify([caller, id]), { from: caller, to: id, count: 0, failed: 0 });
  }
  for (const counted of await subAgentCalls(inspection, tasks.records)) {
    calls.set(JSON.stringify([counted.from, counted.to]), counted);
  }
  for (const peer of (await network?.peers()) ?? []) {
    const { id, name, address } = peer;
    nodes.set(id, { id, kind: 'peer', name, detail: address });
  }
  for (const known of (await network?.calls?.()) ?? []) {
    calls.set(JSON.stringify([known.from, known.to]), { ...known });
  }
  const isKnown = ({ from, to }: CallsView): boolean => nodes.has(from) && nodes.has(to);
  return { nodes: [...nodes.values()], calls: [...calls.values()].filter(isKnown) };
}

/** Conversations whose calls are counted, the latest; and the entries of each that are read. */
const maxContexts = 20;
const maxEntries = 200;

/** Those that the assistant names: others by their cards, and those that are part of it. */
export function subAgents({ agent: caller, assistant }: Inspection): readonly SubAgentView[] {
  const named = assistant?.subAgents() ?? [];
  return named.map((one) => ({ ...one, id: idOf(caller, one.name), caller }));
}

function idOf(caller: string, name: string): string {
  return `sub agent ${caller} ${name}`;
}

/** How often the assistant called its sub agents, by the logs of the conversations of these tasks. */
export async function subAgentCalls(
  inspection: Inspection,
  tasks: readonly Pick<TaskRecord, 'owner' | 'contextId'>[],
): Promise<readonly CallsView[]> {
  const { agent: from, store } = inspection;
  if (subAgents(inspection).length === 0) return [];
  const contexts = new Map<string, Pick<TaskRecord, 'owner' | 'contextId'>>();
  for (const { owner, contextId } of tasks) {
    if (contexts.size >= maxContexts) break;
    if (ownerView(owner).agent === from) {
      contexts.set(JSON.stringify([owner, contextId]), { owner, contextId });
    }
  }
  const calls = new Map<string, CallsView>();
  for (const { owner, contextId } of contexts.values()) {
    for (const { value } of await store.readContextLog(owner, contextId, maxEntries)) {
      if (!isJsonObject(value)) continue;
      const { event, agent_id: agent, timestamp } = value;
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
