import type { NetworkNode, NetworkPicture } from '../../../src/http/inspector/model.ts';
import { useLive } from '../api/loaded.ts';
import { hrefOf } from '../app/route.ts';
import { Badge } from '../ui/badge.tsx';
import { Problem } from '../ui/notice.tsx';
import { isWide } from '../ui/screen.ts';
import { Box, shortened, Tip } from '../ui/shapes.tsx';
import { timeOf } from '../ui/time.ts';
import { type NetworkLayout, networkLayout } from './network-layout.ts';

const kindNames: Readonly<Record<NetworkNode['kind'], string>> = {
  caller: 'caller',
  agent: 'agent here',
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
  return (
    <div class="single-view">
      <div class="view-bar">
        <h1>Network</h1>
        <span class="faint">by the latest tasks, conversations and deliveries</span>
      </div>
      <Problem text={problem} />
      {value !== undefined && (
        <div class="network">
          <Picture layout={networkLayout(value, { isDownward: !isWide.value })} />
          <CallTable picture={value} />
        </div>
      )}
    </div>
  );
}

function Picture({ layout }: { readonly layout: NetworkLayout }) {
  const { width, height, node, agents, calls } = layout;
  const maxName = Math.floor(node.width / 8);
  return (
    <div class="network-picture" tabIndex={0} role="region" aria-label="Picture of the network">
      <svg
        viewBox={`0 0 ${width} ${height}`}
        style={{ width: `${width / 16}rem` }}
        role="img"
        aria-label={`${agents.length} agents and callers, ${calls.length} connections; the table below has them all`}
      >
        <defs>
          <Tip id="call-tip" size={9} kind="tip taken" isFixed />
        </defs>
        {calls.map(({ from, to, line, weight, count, failed }) => (
          <path
            key={`${from} ${to}`}
            class={`call weight-${weight}${failed > 0 ? ' failing' : ''}${count === 0 ? ' idle' : ''}`}
            d={line}
            marker-end="url(#call-tip)"
          >
            <title>{count === 0 ? 'not called yet' : `${count} calls`}</title>
          </path>
        ))}
        {calls.map(({ from, to, labelX, labelY, count, failed }) => {
          const text = failed > 0 ? `${count}, ${failed} failed` : String(count);
          const labelWidth = text.length * 7 + 16;
          if (count === 0) return null;
          return (
            <g key={`${from} ${to}`} class="call-label">
              <Box x={labelX} y={labelY} width={labelWidth} height={22} radius={11} />
              <text x={labelX} y={labelY}>
                {text}
              </text>
            </g>
          );
        })}
        {agents.map(({ id, kind, name, x, y }) => (
          <g key={id} class={`net-node ${kind}`}>
            <title>{name}</title>
            <Box x={x} y={y} {...node} radius={10} />
            <text class="net-kind" x={x} y={y - 9}>
              {kindNames[kind]}
            </text>
            <text class="net-name" x={x} y={y + 11}>
              {shortened(name, maxName)}
            </text>
          </g>
        ))}
      </svg>
    </div>
  );
}

function CallTable({ picture: { nodes, calls } }: { readonly picture: NetworkPicture }) {
  const made = calls.filter(({ count }) => count > 0);
  const nameOf = (id: string): string => nodes.find((node) => node.id === id)?.name ?? id;
  return (
    <table class="table">
      <thead>
        <tr>
          <th>From</th>
          <th>To</th>
          <th>Calls</th>
          <th>Failed</th>
          <th>Latest</th>
        </tr>
      </thead>
      <tbody>
        {made.length === 0 && (
          <tr>
            <td colSpan={5} class="faint">
              Nobody called yet. <a href={hrefOf({ view: 'talk' })}>Say something</a>, and it shows
              up here.
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
      </tbody>
    </table>
  );
}
