import type { PeersView, PeerView, SubAgentView } from '../../../src/http/inspector/model.ts';
import { isJsonObject } from '../../../src/protocol/index.ts';
import { about, ownAgent } from '../api/about.ts';
import { hrefOf } from '../app/route.ts';
import { Badge } from '../ui/badge.tsx';
import { counted } from '../ui/text.ts';
import { checkCard } from './card-checks.ts';
import { knownAgents } from './known-agents.ts';

export interface PeerRow {
  readonly id: string;
  readonly name: string;
  readonly address: string;
  readonly card: unknown;
  readonly problem?: string;
  /** The name of the agent, if it is one of this server. */
  readonly own?: string;
  /** The entry in the server's directory. */
  readonly peer?: PeerView;
  /** The name in the assistant's project. */
  readonly subAgent?: SubAgentView;
  /** Whether the operator looked it up by its address. */
  readonly isLookedUp?: boolean;
}

/** The server's own agents, sub agents, the directory's peers, and agents looked up by URL. */
export function peerRows({ peers, subAgents }: Partial<PeersView> = {}): readonly PeerRow[] {
  return [
    ...(about.value?.agents ?? []).map(({ name, card }) => ({
      id: `own ${name}`,
      name: card.name,
      address: 'this server',
      card,
      own: name,
    })),
    ...(subAgents ?? []).map((subAgent) => {
      const { id, name, address, caller, card } = subAgent;
      const assistant = ownAgent(caller)?.card.name ?? caller;
      return { id, name, address: address ?? `sub agent of ${assistant}`, card, subAgent };
    }),
    ...(peers ?? []).map((peer) => {
      const { id, name, address, card } = peer;
      return { id, name, address, card, peer };
    }),
    ...knownAgents.value.map(({ url, json, problem }) => {
      const named = isJsonObject(json) ? json['name'] : undefined;
      const name = typeof named === 'string' && named !== '' ? named : new URL(url).host;
      return { id: url, name, address: url, card: json, problem, isLookedUp: true };
    }),
  ];
}

interface PeerListProps {
  readonly rows: readonly PeerRow[];
  readonly chosen: string | undefined;
}

export function PeerList({ rows, chosen }: PeerListProps) {
  return (
    <ul class="peer-list">
      {rows.map((row) => (
        <li key={row.id}>
          <a
            class="peer-row"
            href={hrefOf({ view: 'peers', id: row.id })}
            aria-current={row.id === chosen ? 'true' : undefined}
          >
            <strong>{row.name}</strong>
            <span class="faint">{row.address}</span>
            <span class="badges">
              <CardBadge row={row} />
              {row.peer !== undefined && <Badge tone="accent">{row.peer.trust}</Badge>}
              {row.peer !== undefined && (
                <Badge tone={reachTones[row.peer.reach]}>{row.peer.reach}</Badge>
              )}
            </span>
          </a>
        </li>
      ))}
    </ul>
  );
}

const reachTones = { reachable: 'good', unreachable: 'bad', unknown: 'neutral' } as const;

function CardBadge({ row }: { readonly row: PeerRow }) {
  if (row.card === undefined && row.subAgent !== undefined) {
    return <Badge tone="info">sub agent</Badge>;
  }
  if (row.card === undefined) return <Badge tone="bad">no card</Badge>;
  const errors = checkCard(row.card).findings.filter(({ level }) => level === 'error').length;
  if (errors > 0) return <Badge tone="bad">{counted(errors, 'error')}</Badge>;
  return <Badge tone="good">valid card</Badge>;
}
