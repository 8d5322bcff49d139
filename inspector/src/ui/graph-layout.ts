import { type EdgeLabel, Graph, type GraphLabel, layout, type NodeLabel } from '@dagrejs/dagre';

/** A box of a diagram; `x` and `y` are its center. In units of the drawing. */
export interface PlacedNode {
  readonly id: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  /** Size of the label; absent without one. */
  readonly label?: { readonly width: number; readonly height: number };
  /** Edges of higher weight are shorter and straighter. @default 1 */
  readonly weight?: number;
  /** Whether the layout treats the edge as reversed. @default false */
  readonly isReversed?: boolean;
}

export interface PlacedEdge {
  /** As an SVG path. */
  readonly line: string;
  readonly labelX: number;
  readonly labelY: number;
}

export interface PlacedGraph<E> {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly PlacedNode[];
  readonly edges: readonly (E & PlacedEdge)[];
}

interface LayoutOptions {
  readonly direction: 'down' | 'right';
  /** Distance between neighbours, and between ranks. */
  readonly nodesep: number;
  readonly ranksep: number;
  readonly margin: number;
}

/** Space for the tip of an arrow. */
const tip = 6;

/** Lays a graph out: every node after its predecessors, except for loops. */
export function layOut<E extends GraphEdge>(
  nodes: readonly Pick<PlacedNode, 'id' | 'width' | 'height'>[],
  edges: readonly E[],
  { direction, nodesep, ranksep, margin }: LayoutOptions,
): PlacedGraph<E> {
  const isDown = direction === 'down';
  // The layout is from top to bottom; for "right", both axes are swapped.
  const turned = <S extends { width: number; height: number }>(size: S) =>
    isDown ? size : { ...size, width: size.height, height: size.width };
  const graph = new Graph<GraphLabel, NodeLabel, EdgeLabel>({ multigraph: true });
  const spaces = { nodesep, edgesep: 24, ranksep, marginx: margin, marginy: margin };
  graph.setGraph({ rankdir: 'TB', ...spaces });
  for (const { id, width, height } of nodes) graph.setNode(id, turned({ width, height }));
  // In reverse order: the layout puts the first edge on the right.
  for (const [index, edge] of [...edges.entries()].toReversed()) {
    const { from, to, label, weight = 1, isReversed = false } = edge;
    const size = label === undefined ? {} : { ...turned(label), labelpos: 'c' as const };
    const ends = isReversed ? ([to, from] as const) : ([from, to] as const);
    graph.setEdge(...ends, { ...size, weight }, String(index));
  }
  const { width = 0, height = 0 } = layout(graph).graph();
  const placed = (id: string): PlacedNode => {
    const { x = 0, y = 0, ...size } = graph.node(id);
    return { id, x, y, width: size.width, height: size.height };
  };
  return {
    ...turned({ width, height }),
    nodes: nodes.map(({ id }) => {
      const node = placed(id);
      return isDown ? node : { ...turned(node), x: node.y, y: node.x };
    }),
    edges: edges.map((edge, index) => {
      const { from, to, isReversed = false } = edge;
      const ends = isReversed ? ([to, from] as const) : ([from, to] as const);
      const { points = [], x = 0, y = 0 } = graph.edge(...ends, String(index));
      const bends = isReversed ? points.toReversed() : points;
      const line = curve(bends, placed(from), placed(to), isDown);
      return { ...edge, line, labelX: isDown ? x : y, labelY: isDown ? y : x };
    }),
  };
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/** A curve through the bends, from the center of one box to the center of the next. */
function curve(
  points: readonly Point[],
  from: PlacedNode,
  to: PlacedNode,
  isDown: boolean,
): string {
  const [first = from] = points;
  const last = points.at(-1) ?? to;
  const isForward = from.y < to.y;
  const start = isForward ? { x: from.x, y: from.y + from.height / 2 } : first;
  const end = isForward
    ? { x: to.x, y: to.y - to.height / 2 - tip }
    : { x: last.x, y: last.y + tip };
  const at = (x: number, y: number): string => (isDown ? `${x} ${y}` : `${y} ${x}`);
  let line = `M${at(start.x, start.y)}`;
  let before: Point = start;
  for (const point of [...points.slice(1, -1), end]) {
    const middle = (before.y + point.y) / 2;
    line += `C${at(before.x, middle)} ${at(point.x, middle)} ${at(point.x, point.y)}`;
    before = point;
  }
  return line;
}
