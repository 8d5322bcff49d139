import type { PeerView, SubAgentView } from '../../../src/http/inspector/model.ts';
import { hrefOf } from '../app/route.ts';
import { Badge } from '../ui/badge.tsx';
import { checkCard } from './card-checks.ts';

export interface PeerRow {
  readonly id: string;
  readonly name: string;
  readonly address: string;
  readonly card: unknown;
  readonly problem?: string;
  /** The name of an agent of this server. */
  readonly own?: string;
  /** The entry in the server's directory. */
  readonly peer?: PeerView;
  /** The name in the assistant's project. */
  readonly subAgent?: SubAgentView;
  /** The address under which the operator looked it up. */
  readonly looked?: string;
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
              <Verdict row={row} />
              {row.peer !== undefined && <Badge tone="accent">{row.peer.trust}</Badge>}
              {row.peer !== undefined && <Reach peer={row.peer} />}
            </span>
          </a>
        </li>
      ))}
    </ul>
  );
}

function Verdict({ row }: { readonly row: PeerRow }) {
  if (row.card === undefined) {
    return row.subAgent === undefined ? (
      <Badge tone="bad">no card</Badge>
    ) : (
      <Badge tone="info">sub agent</Badge>
    );
  }
  const errors = checkCard(row.card).findings.filter(({ level }) => level === 'error').length;
  return errors > 0 ? (
    <Badge tone="bad">{errors} errors</Badge>
  ) : (
    <Badge tone="good">valid card</Badge>
  );
}

function Reach({ peer: { reach } }: { readonly peer: PeerView }) {
  const tone = reach === 'reachable' ? 'good' : reach === 'unreachable' ? 'bad' : 'neutral';
  return <Badge tone={tone}>{reach}</Badge>;
}
