import type {
  CallsView,
  NetworkNode,
  NetworkPicture,
} from '../../../src/http/inspector/network.ts';

export interface PlacedAgent extends NetworkNode {
  readonly x: number;
  readonly y: number;
}

export interface PlacedCalls extends CallsView {
  readonly line: string;
  readonly labelX: number;
  readonly labelY: number;
  /** From 1 for the fewest calls to 5 for the most. */
  readonly weight: number;
}

export interface NetworkLayout {
  readonly width: number;
  readonly height: number;
  readonly agents: readonly PlacedAgent[];
  readonly calls: readonly PlacedCalls[];
}

export const nodeSize = { width: 190, height: 52 };
const columnWidth = 330;
const rowHeight = 84;
const margin = 30;

/** Callers on the left, our agents in the middle, whoever they call on the right. */
const columns: Readonly<Record<NetworkNode['kind'], number>> = {
  caller: 0,
  agent: 1,
  peer: 2,
  webhook: 2,
};

export function networkLayout({ nodes, calls }: NetworkPicture): NetworkLayout {
  const all: NetworkNode[][] = [[], [], []];
  for (const node of nodes) all[columns[node.kind]]?.push(node);
  const lanes = all.filter((lane) => lane.length > 0);
  const rows = Math.max(1, ...lanes.map((lane) => lane.length));
  const height = rows * rowHeight + 2 * margin;
  const agents = lanes.flatMap((lane, column) =>
    lane.map((node, index) => ({
      ...node,
      x: margin + nodeSize.width / 2 + column * columnWidth,
      y: ((index + 0.5) / lane.length) * (height - 2 * margin) + margin,
    })),
  );
  const places = new Map(agents.map((agent) => [agent.id, agent]));
  const most = Math.max(1, ...calls.map(({ count }) => count));
  return {
    width: 2 * margin + Math.max(0, lanes.length - 1) * columnWidth + nodeSize.width,
    height,
    agents,
    calls: calls.flatMap((each) => {
      const from = places.get(each.from);
      const to = places.get(each.to);
      if (from === undefined || to === undefined) return [];
      const weight = 1 + Math.round((Math.log(each.count + 1) / Math.log(most + 1)) * 4);
      return [{ ...each, ...lineOf(from, to), weight }];
    }),
  };
}

function lineOf(
  from: PlacedAgent,
  to: PlacedAgent,
): Pick<PlacedCalls, 'line' | 'labelX' | 'labelY'> {
  const half = nodeSize.width / 2;
  const isRightward = to.x >= from.x;
  const startX = from.x + (isRightward ? half : -half);
  const endX = to.x + (isRightward ? -half - 8 : half + 8);
  const middle = (startX + endX) / 2;
  // Lines meet at agents: labels stand nearer to the other end.
  const share = from.kind === 'agent' ? 0.66 : 0.34;
  return {
    line: `M${startX} ${from.y}C${middle} ${from.y} ${middle} ${to.y} ${endX} ${to.y}`,
    labelX: onCurve(share, [startX, middle, middle, endX]),
    labelY: onCurve(share, [from.y, from.y, to.y, to.y]),
  };
}

/** One coordinate of a point on a cubic curve, from 0 at its beginning to 1 at its end. */
function onCurve(share: number, [a, b, c, e]: readonly [number, number, number, number]): number {
  const rest = 1 - share;
  return rest ** 3 * a + 3 * rest ** 2 * share * b + 3 * rest * share ** 2 * c + share ** 3 * e;
}
