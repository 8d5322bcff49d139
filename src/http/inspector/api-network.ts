import { z } from 'zod';
import { present } from '../../config/index.ts';
import { isJsonObject, LegateError } from '../../protocol/index.ts';
import { type ApiCall, audited, bodyOf, type Inspection, type Routes } from './inspection.ts';
import type { CallsView, NetworkNode, NetworkPicture, PeersView, SubAgentView } from './model.ts';
import { ownerView } from './tasks.ts';

/** Other agents: cards, trust, approvals, and the call graph. */
export const networkRoutes: Routes = [
  ['GET', 'network', networkPicture],
  ['GET', 'peers', listPeers],
  ['POST', 'peers/{id}/trust', setTrust],
  ['GET', 'approvals', async ({ network }) => (await network?.approvals?.()) ?? []],
  ['POST', 'approvals/{id}', decide],
];

async function listPeers(inspection: Inspection): Promise<PeersView> {
  const { network } = inspection;
  return {
    levels: network?.levels ?? [],
    canSetTrust: network?.setTrust !== undefined,
    peers: (await network?.peers()) ?? [],
    subAgents: subAgents(inspection),
  };
}

async function setTrust(inspection: Inspection, call: ApiCall): Promise<object> {
  const { network } = inspection;
  if (network?.setTrust === undefined) throw noDirectory();
  const { id: peerId = '' } = call.params;
  const change = await bodyOf(
    call,
    z.object({
      level: z.enum(network.levels.map(({ name }) => name)),
      approvedSkills: z.array(z.string()).optional(),
    }),
  );
  await network.setTrust(peerId, present(change));
  audited(inspection, call, 'audit.trust_set', { peerId, level: change.level });
  return {};
}

async function decide(inspection: Inspection, call: ApiCall): Promise<object> {
  const { network } = inspection;
  if (network?.decide === undefined) throw noDirectory();
  const { id: approvalId = '' } = call.params;
  const { decision } = await bodyOf(call, z.object({ decision: z.enum(['approve', 'reject']) }));
  await network.decide(approvalId, decision);
  audited(inspection, call, 'audit.approval_decided', { approvalId, decision });
  return {};
}

function noDirectory(): LegateError {
  return new LegateError('UNSUPPORTED_OPERATION', 'this server has no peer directory');
}

/** Maximum numbers of tasks and deliveries counted, latest first. */
const maxTasks = 500;
const maxDeliveries = 500;
/** Maximum number of conversations whose sub agent calls are counted, latest first, and entries of each. */
const maxContexts = 20;
const maxEntries = 200;

/**
 * Builds the call graph: callers and agents from tasks, webhooks from deliveries, sub agents from the
 * logs of conversations, peers from the provider.
 */
async function networkPicture(inspection: Inspection): Promise<NetworkPicture> {
  const { agent: ours, service, store, network } = inspection;
  const { name, description } = service.cards.current;
  const nodes = new Map<string, NetworkNode>();
  const calls = new Map<string, CallsView>();
  const addNode = (node: NetworkNode): void => void nodes.set(node.id, node);
  const addCalls = (counted: CallsView): void => {
    calls.set(JSON.stringify([counted.from, counted.to]), counted);
  };
  const count = (from: string, to: string, hasFailed: boolean, at: number): void => {
    const {
      count: before = 0,
      failed = 0,
      lastAt = 0,
    } = calls.get(JSON.stringify([from, to])) ?? {};
    const failures = failed + (hasFailed ? 1 : 0);
    addCalls({ from, to, count: before + 1, failed: failures, lastAt: Math.max(lastAt, at) });
  };
  addNode({ id: ours, kind: 'agent', name, detail: description });
  const { records } = await store.list({ limit: maxTasks });
  for (const { owner, state, statusTime } of records) {
    const { agent, tenant, subject, key } = ownerView(owner);
    const id = `caller ${key}`;
    const detail = tenant === '' ? undefined : tenant;
    addNode(present({ id, kind: 'caller' as const, name: subject || 'anonymous', detail }));
    const hasFailed = state === 'TASK_STATE_FAILED' || state === 'TASK_STATE_REJECTED';
    count(id, agent, hasFailed, statusTime);
  }
  const owners = new Map(records.map(({ id, owner }) => [id, ownerView(owner).agent]));
  for (const delivery of await store.push.deliveries({ limit: maxDeliveries })) {
    const agent = owners.get(delivery.taskId);
    // A configuration that can't be decoded has no URL.
    const host = URL.parse(delivery.push.config.url)?.host;
    if (agent === undefined || host === undefined) continue;
    const id = `webhook ${host}`;
    addNode({ id, kind: 'webhook', name: host });
    // `nextAttemptAt` of a pending delivery lies in the future.
    const at = Math.min(delivery.nextAttemptAt, inspection.now());
    count(agent, id, delivery.state === 'dead', at);
  }
  for (const { id, name: title, description: detail, caller } of subAgents(inspection)) {
    addNode({ id, kind: 'sub-agent', name: title, detail });
    // Connects the sub agent to its assistant even if it was never called.
    addCalls({ from: caller, to: id, count: 0, failed: 0 });
  }
  for (const { agent, at } of await subAgentCalls(inspection, records)) {
    count(ours, subAgentId(ours, agent), false, at);
  }
  for (const { id, name: title, address } of (await network?.peers()) ?? []) {
    addNode({ id, kind: 'peer', name: title, detail: address });
  }
  for (const counted of (await network?.calls?.()) ?? []) addCalls(counted);
  const isKnown = ({ from, to }: CallsView): boolean => nodes.has(from) && nodes.has(to);
  return { nodes: [...nodes.values()], calls: [...calls.values()].filter(isKnown) };
}

/** The sub agents of the assistant, remote and local. */
function subAgents({ agent: caller, assistant }: Inspection): readonly SubAgentView[] {
  const named = assistant?.subAgents() ?? [];
  return named.map((one) => ({ ...one, id: subAgentId(caller, one.name), caller }));
}

function subAgentId(caller: string, name: string): string {
  return `sub agent ${caller} ${name}`;
}

/** The calls of sub agents in the conversation logs of these tasks. */
async function subAgentCalls(
  { agent: ours, assistant, store }: Inspection,
  tasks: readonly { readonly owner: string; readonly contextId: string }[],
): Promise<readonly { readonly agent: string; readonly at: number }[]> {
  if (assistant === undefined) return [];
  const own = tasks.filter(({ owner }) => ownerView(owner).agent === ours);
  const contexts = new Map(own.map((task) => [JSON.stringify([task.owner, task.contextId]), task]));
  const calls: { agent: string; at: number }[] = [];
  for (const { owner, contextId } of [...contexts.values()].slice(0, maxContexts)) {
    for (const { value } of await store.readContextLog(owner, contextId, maxEntries)) {
      if (!isJsonObject(value)) continue;
      const { event, agent_id: agent, timestamp } = value;
      if (event !== 'agent_started' || typeof agent !== 'string') continue;
      calls.push({ agent, at: typeof timestamp === 'number' ? timestamp * 1_000 : 0 });
    }
  }
  return calls;
}
