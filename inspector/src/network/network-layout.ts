import type {
  CallsView,
  NetworkNode,
  NetworkPicture,
} from '../../../src/http/inspector/model.ts';

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
  readonly node: Paces['node'];
  readonly agents: readonly PlacedAgent[];
  readonly calls: readonly PlacedCalls[];
}

interface Paces {
  readonly node: { readonly width: number; readonly height: number };
  /** Distance between lanes. */
  readonly lane: number;
  /** Distance between neighbours in a lane. */
  readonly next: number;
  readonly margin: number;
}

const across: Paces = { node: { width: 190, height: 52 }, lane: 330, next: 84, margin: 30 };
/** From top to bottom, small enough for two nodes side by side on a phone. */
const downward: Paces = { node: { width: 144, height: 52 }, lane: 140, next: 156, margin: 12 };

/** Callers on the left, our agents in the middle, the agents that they call on the right. */
const columns: Readonly<Record<NetworkNode['kind'], number>> = {
  caller: 0,
  agent: 1,
  peer: 2,
  'sub-agent': 2,
  webhook: 2,
};

export function networkLayout(
  { nodes, calls }: NetworkPicture,
  options: {
    /** Stacks the lanes vertically. @default false */
    readonly isDownward?: boolean;
  } = {},
): NetworkLayout {
  const { isDownward = false } = options;
  const { node: size, lane: laneStep, next, margin } = isDownward ? downward : across;
  const all: NetworkNode[][] = [[], [], []];
  for (const node of nodes) all[columns[node.kind]]?.push(node);
  const lanes = all.filter((lane) => lane.length > 0);
  const most = Math.max(1, ...lanes.map((lane) => lane.length));
  const length = most * next;
  const breadth = Math.max(0, lanes.length - 1) * laneStep;
  const agents = lanes.flatMap((lane, number) =>
    lane.map((node, index) => {
      const along = ((index + 0.5) / lane.length) * length + margin;
      const lanePlace = number * laneStep + margin;
      return isDownward
        ? { ...node, x: along, y: lanePlace + size.height / 2 }
        : { ...node, x: lanePlace + size.width / 2, y: along };
    }),
  );
  const places = new Map(agents.map((agent) => [agent.id, agent]));
  const mostCalls = Math.max(1, ...calls.map(({ count }) => count));
  return {
    width: 2 * margin + (isDownward ? length : breadth + size.width),
    height: 2 * margin + (isDownward ? breadth + size.height : length),
    node: size,
    agents,
    calls: calls.flatMap((each) => {
      const from = places.get(each.from);
      const to = places.get(each.to);
      if (from === undefined || to === undefined) return [];
      const weight = 1 + Math.round((Math.log(each.count + 1) / Math.log(mostCalls + 1)) * 4);
      return [{ ...each, ...lineOf(from, to, size, isDownward), weight }];
    }),
  };
}

/** A curve from one lane to another; `along` is the axis across lanes. */
function lineOf(
  from: PlacedAgent,
  to: PlacedAgent,
  size: Paces['node'],
  isDownward: boolean,
): Pick<PlacedCalls, 'line' | 'labelX' | 'labelY'> {
  const along = isDownward ? 'y' : 'x';
  const beside = isDownward ? 'x' : 'y';
  const half = (isDownward ? size.height : size.width) / 2;
  const sign = to[along] >= from[along] ? 1 : -1;
  const start = from[along] + sign * half;
  const end = to[along] - sign * (half + 8);
  const middle = (start + end) / 2;
  // Lines meet at agents: labels stand nearer to the other end.
  const near = isDownward ? 0.38 : 0.34;
  const share = from.kind === 'agent' ? 1 - near : near;
  const lengthwise = [start, middle, middle, end] as const;
  const crosswise = [from[beside], from[beside], to[beside], to[beside]] as const;
  const [xs, ys] = isDownward ? [crosswise, lengthwise] : [lengthwise, crosswise];
  const [first, ...rest] = xs.map((x, index) => `${x} ${ys[index]}`);
  return {
    line: `M${first}C${rest.join(' ')}`,
    labelX: onCurve(share, xs),
    labelY: onCurve(share, ys),
  };
}

/** One coordinate of a point on a cubic curve, from 0 at its beginning to 1 at its end. */
function onCurve(share: number, [a, b, c, e]: readonly [number, number, number, number]): number {
  const rest = 1 - share;
  return rest ** 3 * a + 3 * rest ** 2 * share * b + 3 * rest * share ** 2 * c + share ** 3 * e;
}
