import type { NetworkProvider } from '../../http/index.ts';
import { type AgentCard, type JsonObject, LegateError } from '../../protocol/index.ts';
import { busNameOf, type Peer } from '../directory/index.ts';
import {
  peerSubject,
  readTrustName,
  type TrustEntry,
  type TrustLevel,
  trustLevels,
  trustName,
} from '../trust/index.ts';
import type { PeerNetwork } from './join-peers.ts';

/** What each level means to those who grant it. */
const meanings: Readonly<Record<TrustLevel, string>> = {
  observe: 'What it asks is noted for you; nothing is done.',
  learn: 'What it tells may be kept as facts.',
  propose: 'What it asks waits for your approval.',
  act: 'Skills that you approve are carried out at once.',
};

type PeerView = Awaited<ReturnType<NetworkProvider['peers']>>[number];

/**
 * A network of agents for the inspector: peers that we call and callers that we know, what they may
 * do, and what waits for the user. What is decided there is noted in the audit log.
 * @example await serve(me, { inspect: { network: inspectedNetwork(network, { name: 'me' }) } })
 */
export function inspectedNetwork(
  network: Pick<PeerNetwork, 'directory' | 'trust' | 'proposals' | 'invoker'>,
  options: {
    /** Our own agent, whom the callers call. */
    readonly name: string;
    /** Who decides, for the audit log. @default 'inspector' */
    readonly by?: string;
  },
): NetworkProvider {
  const { directory, trust, proposals, invoker } = network;
  const { name, by = 'inspector' } = options;
  const callers = async (): Promise<readonly TrustEntry[]> =>
    (await trust.list()).filter(({ method }) => method !== 'peer');
  return {
    levels: trustLevels.map((level) => ({ name: level, description: meanings[level] })),
    async peers() {
      const known = await directory.list();
      const views = known.map(async (peer) =>
        peerView(peer, await trust.find(peerSubject(peer.name))),
      );
      return [...(await Promise.all(views)), ...(await callers()).map(callerView)];
    },
    async setTrust(id, { level, approvedSkills }) {
      const subject = readTrustName(id);
      const found = trustLevels.find((each) => each === level);
      if (found === undefined) throw new LegateError('INVALID_PARAMS', `"${level}" is no level`);
      const wanted = approvedSkills?.map((skill) => skill.toLowerCase());
      const { approvedSkills: before } = await trust.find(subject);
      const lost = wanted === undefined ? [] : before.filter((skill) => !wanted.includes(skill));
      if (lost.length > 0) await trust.revoke(subject, { skills: lost, by });
      await trust.grant(subject, { level: found, by, skills: wanted ?? [] });
    },
    async approvals() {
      return (await proposals.list()).map((proposal) => ({
        id: proposal.id,
        peerId: trustName(proposal),
        title: `${proposal.displayName ?? proposal.subject} asks for ${proposal.skill ?? 'something'}`,
        detail: proposal.text,
        since: proposal.createdAt,
      }));
    },
    async decide(id, decision) {
      if (decision === 'approve') await proposals.approve(id, by);
      else await proposals.refuse(id, by);
    },
    async calls() {
      const incoming = (await callers()).map((entry) => ({
        from: trustName(entry),
        to: name,
        count: entry.interactionCount,
        failed: 0,
        ...(entry.lastInteraction !== undefined && { lastAt: entry.lastInteraction }),
      }));
      const underWay = Map.groupBy(await invoker.list(), ({ agent }) => agent);
      const outgoing = [...underWay].map(([agent, calls]) => ({
        from: name,
        to: trustName(peerSubject(agent)),
        count: calls.length,
        failed: 0,
        lastAt: Math.max(...calls.map(({ startedAt }) => startedAt)),
      }));
      return [...incoming, ...outgoing];
    },
  };
}

function peerView({ name, card, url, lastSeenAt, cardSource }: Peer, entry: TrustEntry): PeerView {
  const queue = card.supportedInterfaces.map(busNameOf).find((each) => each !== undefined);
  return {
    id: trustName(entry),
    name,
    address: url ?? queue ?? '',
    transport: url === undefined ? 'bus' : 'http',
    reach: lastSeenAt === undefined ? 'unknown' : 'reachable',
    ...(lastSeenAt !== undefined && { lastSeen: lastSeenAt }),
    ...(cardSource !== 'none' && { card: jsonOf(card) }),
    ...trustOf(entry),
  };
}

function callerView(entry: TrustEntry): PeerView {
  const { method, subject, displayName = subject, lastInteraction } = entry;
  const isOnBus = method === 'message-token' || method === 'self-asserted';
  return {
    id: trustName(entry),
    name: displayName,
    address: `calls us, known by ${method}`,
    transport: isOnBus ? 'bus' : 'http',
    reach: 'unknown',
    ...(lastInteraction !== undefined && { lastSeen: lastInteraction }),
    ...trustOf(entry),
  };
}

function trustOf({ level, approvedSkills, interactionCount }: TrustEntry) {
  return { trust: level, approvedSkills, interactions: interactionCount };
}

function jsonOf(card: AgentCard): JsonObject {
  return JSON.parse(JSON.stringify(card)) as JsonObject;
}
