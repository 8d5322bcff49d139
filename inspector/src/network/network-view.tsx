import { shortened } from '../../../src/protocol/index.ts';
import type { CallsView, NetworkNode, NetworkPicture } from '../../../src/http/inspector/model.ts';
import { about } from '../api/about.ts';
import { useLive } from '../api/resource.ts';
import { hrefOf } from '../app/route.ts';
import { Badge } from '../ui/badge.tsx';
import { layOut } from '../ui/graph-layout.ts';
import { Empty, Problem } from '../ui/notice.tsx';
import { Box, Tip } from '../ui/shapes.tsx';
import { isWide } from '../ui/split.tsx';
import { Table } from '../ui/table.tsx';
import { timeOf } from '../ui/text.ts';

const kindNames: Readonly<Record<NetworkNode['kind'], string>> = {
  caller: 'caller',
  agent: 'own agent',
  peer: 'peer',
  'sub-agent': 'sub agent',
  webhook: 'webhook',
};

/** The call graph, as a diagram and as a table. */
export function NetworkView() {
  const { value, problem } = useLive<NetworkPicture>(
    'network',
    ({ tasks, push }) => tasks !== undefined || push === true,
  );
  const isElsewhere = about.value?.target !== undefined;
  return (
    <div class="single-view">
      <div class="view-bar">
        <h1>Network</h1>
        <span class="faint">from the latest tasks, conversations and deliveries</span>
      </div>
      <Problem text={problem} />
      {isElsewhere && (
        <Empty icon="network" title="No calls to show">
          <p class="soft">Only the server of the inspected agent records its callers.</p>
        </Empty>
      )}
      {value !== undefined && !isElsewhere && (
        <div class="network">
          <Diagram picture={value} />
          <CallTable picture={value} />
        </div>
      )}
    </div>
  );
}

function Diagram({ picture: { nodes, calls } }: { readonly picture: NetworkPicture }) {
  // Narrow boxes, from top to bottom: two fit side by side on a phone.
  const size = { width: isWide.value ? 190 : 144, height: 52 };
  const kinds = new Map(nodes.map(({ id, kind }) => [id, kind]));
  const most = Math.max(1, ...calls.map(({ count }) => count));
  const graph = layOut(
    nodes.map(({ id }) => ({ id, ...size })),
    [...calls.map((each) => callEdge(each, kinds)), ...idleEdges(nodes, calls)],
    isWide.value
      ? { direction: 'right', nodesep: 32, ranksep: 60, margin: 30 }
      : { direction: 'down', nodesep: 12, ranksep: 36, margin: 12 },
  );
  const drawn = graph.edges.flatMap(({ calls: made, ...edge }) =>
    made === undefined ? [] : { ...edge, ...made },
  );
  return (
    <div class="network-picture" tabIndex={0} role="region" aria-label="Network diagram">
      <svg
        viewBox={`0 0 ${graph.width} ${graph.height}`}
        style={{ width: `${graph.width / 16}rem` }}
        role="img"
        aria-label={`${nodes.length} agents and callers, ${calls.length} connections; the table below has them all`}
      >
        <defs>
          <Tip id="call-tip" size={9} kind="tip taken" isFixed />
        </defs>
        {drawn.map(({ from, to, line, count, failed }) => (
          <path
            key={`${from} ${to}`}
            class={`call weight-${weightOf(count, most)}${failed > 0 ? ' failing' : ''}${count === 0 ? ' idle' : ''}`}
            d={line}
            marker-end="url(#call-tip)"
          >
            <title>{count === 0 ? 'not called yet' : `${count} calls`}</title>
          </path>
        ))}
        {drawn.map(({ from, to, labelX, labelY, text, label }) => {
          if (label === undefined) return null;
          return (
            <g key={`${from} ${to}`} class="call-label">
              <Box x={labelX} y={labelY} {...label} radius={11} />
              <text x={labelX} y={labelY}>
                {text}
              </text>
            </g>
          );
        })}
        {graph.nodes.map(({ id, x, y, width }, index) => {
          const { kind, name } = nodes[index] ?? { kind: 'agent', name: id };
          return (
            <g key={id} class={`net-node ${kind}`}>
              <title>{name}</title>
              <Box x={x} y={y} {...size} radius={10} />
              <text class="net-kind" x={x} y={y - 9}>
                {kindNames[kind]}
              </text>
              <text class="net-name" x={x} y={y + 11}>
                {shortened(name, Math.floor(width / 8))}
              </text>
            </g>
          );
        })}
      </svg>
    </div>
  );
}

/** Columns of the diagram: callers, the server's own agents, then the agents that they call. */
const ranks: Readonly<Record<NetworkNode['kind'], number>> = {
  caller: 0,
  agent: 1,
  peer: 2,
  'sub-agent': 2,
  webhook: 2,
};

interface CallEdge {
  readonly from: string;
  readonly to: string;
  readonly text: string;
  readonly isReversed?: boolean;
  readonly label?: { readonly width: number; readonly height: number };
  /** Absent for edges that only place their nodes. */
  readonly calls?: CallsView;
}

function callEdge(calls: CallsView, kinds: ReadonlyMap<string, NetworkNode['kind']>): CallEdge {
  const { from, to, count, failed } = calls;
  const rank = (id: string): number => ranks[kinds.get(id) ?? 'agent'];
  const text = failed > 0 ? `${count}, ${failed} failed` : String(count);
  const label = { width: text.length * 7 + 16, height: 22 };
  const isReversed = rank(from) > rank(to);
  return { from, to, text, isReversed, calls, ...(count > 0 && { label }) };
}

/** Places agents that were never called beside the others, without a line. */
function idleEdges(nodes: readonly NetworkNode[], calls: readonly CallsView[]): CallEdge[] {
  const own = nodes.find(({ kind }) => kind === 'agent');
  const connected = new Set(calls.flatMap(({ from, to }) => [from, to]));
  if (own === undefined) return [];
  return nodes
    .filter(({ id, kind }) => kind !== 'agent' && !connected.has(id))
    .map(({ id, kind }) => ({ from: own.id, to: id, text: '', isReversed: kind === 'caller' }));
}

/** The width of a line: from 1 for the fewest calls to 5 for the most. */
function weightOf(count: number, most: number): number {
  return 1 + Math.round((Math.log(count + 1) / Math.log(most + 1)) * 4);
}

function CallTable({ picture: { nodes, calls } }: { readonly picture: NetworkPicture }) {
  const made = calls.filter(({ count }) => count > 0);
  const nameOf = (id: string): string => nodes.find((node) => node.id === id)?.name ?? id;
  return (
    <Table heads={['From', 'To', 'Calls', 'Failed', 'Latest']}>
      {made.length === 0 && (
        <tr>
          <td colSpan={5} class="faint">
            No calls yet. <a href={hrefOf({ view: 'talk' })}>Send a message</a> to make one.
          </td>
        </tr>
      )}
      {made.map(({ from, to, count, failed, lastAt }) => (
        <tr key={`${from} ${to}`}>
          <td>{nameOf(from)}</td>
          <td>{nameOf(to)}</td>
          <td>{count}</td>
          <td>{failed > 0 ? <Badge tone="bad">{failed}</Badge> : 0}</td>
          <td>{lastAt === undefined ? '' : timeOf(lastAt)}</td>
        </tr>
      ))}
    </Table>
  );
}
