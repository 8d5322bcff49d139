import type { NetworkProvider } from '../../http/index.ts';
import { Json, type JsonObject, LegateError } from '../../protocol/index.ts';
import { foldName } from '../directory/fold-name.ts';
import { busNameOf } from '../directory/transport-kind.ts';
import type { Peer } from '../directory/peer.ts';
import {
  peerSubject,
  readTrustName,
  type TrustLevel,
  trustLevels,
  trustName,
} from '../trust/trust-subject.ts';
import type { TrustEntry } from '../trust/trust-ledger.ts';
import type { PeerNetwork } from './join-peers.ts';

const descriptions: Readonly<Record<TrustLevel, string>> = {
  observe: 'Its requests are noted for you; nothing is done.',
  learn: 'Its messages may be stored as facts.',
  propose: 'Its requests wait for your approval.',
  act: 'Skills that you approve are carried out at once.',
};

type PeerView = Awaited<ReturnType<NetworkProvider['peers']>>[number];

/**
 * A network of agents for the inspector: peers and callers, their trust, and requests that wait for
 * approval. Decisions in the inspector are recorded in the audit log.
 * @example await serve(me, { inspect: { network: inspectedNetwork(network, { name: 'me' }) } })
 */
export function inspectedNetwork(
  network: Pick<PeerNetwork, 'directory' | 'trust' | 'proposals' | 'invoker'>,
  options: {
    /** The name of our own agent. */
    readonly name: string;
    /** The author of changes in the audit log. @default 'inspector' */
    readonly by?: string;
  },
): NetworkProvider {
  const { directory, trust, proposals, invoker } = network;
  const { name, by = 'inspector' } = options;
  const callers = async (): Promise<readonly TrustEntry[]> =>
    (await trust.list()).filter(({ method }) => method !== 'peer');
  return {
    levels: trustLevels.map((level) => ({ name: level, description: descriptions[level] })),
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
      if (found === undefined)
        throw new LegateError(
          'INVALID_PARAMS',
          `unknown trust level "${level}": use ${trustLevels.join(', ')}`,
        );
      const wanted = approvedSkills?.map(foldName);
      const { approvedSkills: before } = await trust.find(subject);
      const revoked = wanted === undefined ? [] : before.filter((skill) => !wanted.includes(skill));
      if (revoked.length > 0) await trust.revoke(subject, { skills: revoked, by });
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
      const inFlight = Map.groupBy(await invoker.list(), ({ agent }) => agent);
      const outgoing = [...inFlight].map(([agent, calls]) => ({
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
    ...(cardSource !== 'none' && { card: Json.fromText<JsonObject>(JSON.stringify(card)).value }),
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
