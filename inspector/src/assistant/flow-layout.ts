import { Graph, layout } from '@dagrejs/dagre';
import type { FlowView } from '../../../src/http/inspector/model.ts';
import { END, START } from './flow-path.ts';

/** A box of the diagram; `x` and `y` are its center. In units of the drawing. */
export interface PlacedNode {
  readonly id: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface PlacedWay {
  readonly from: string;
  readonly to: string;
  /** As an SVG path. */
  readonly line: string;
  /** The condition; empty for an unconditional edge. */
  readonly label: string;
  readonly labelX: number;
  readonly labelY: number;
}

export interface FlowLayout {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly PlacedNode[];
  readonly ways: readonly PlacedWay[];
}

interface Way {
  readonly from: string;
  readonly to: string;
  readonly label: string;
}

const box = { width: 216, height: 54 };
const pill = { width: 72, height: 30 };
/** Space for the tip of an arrow. */
const tip = 6;

/** Labels are truncated to this many characters. */
export const maximumLabel = 30;

/** The width of a rendered label. */
export function labelWidth(label: string): number {
  return Math.min(label.length, maximumLabel) * 6.4 + 12;
}

/** Lays a flow out from top to bottom: every step below its predecessors, except for loops. */
export function flowLayout(flow: FlowView): FlowLayout {
  const ways = waysOf(flow);
  const ids = [START, ...flow.steps.map(({ id }) => id), END].filter(
    (id) => id === START || ways.some(({ from, to }) => from === id || to === id),
  );
  const graph = new Graph({ multigraph: true })
    .setGraph({ rankdir: 'TB', nodesep: 32, edgesep: 24, ranksep: 36, marginx: 24, marginy: 24 })
    .setDefaultEdgeLabel(() => ({}));
  for (const id of ids) graph.setNode(id, { ...(id === START || id === END ? pill : box) });
  // From the last to the first: the layout puts the first on the right.
  for (const [index, { from, to, label }] of [...ways.entries()].toReversed()) {
    const size = label === '' ? {} : { width: labelWidth(label), height: 20, labelpos: 'c' };
    graph.setEdge(from, to, { ...size, weight: weightOf(label, to) }, String(index));
  }
  layout(graph);
  const node = (id: string): PlacedNode => ({ id, ...(graph.node(id) as Omit<PlacedNode, 'id'>) });
  const { width = 0, height = 0 } = graph.graph();
  return {
    width,
    height,
    nodes: ids.map(node),
    ways: ways.map((way, index) => {
      const { points = [], x, y } = graph.edge(way.from, way.to, String(index)) as PlacedEdge;
      const line = lineOf(points, node(way.from), node(way.to));
      return { ...way, line, labelX: x ?? 0, labelY: y ?? 0 };
    }),
  };
}

/** Steps stand right below their branch; only the edge to the end is long. */
function weightOf(label: string, to: string): number {
  if (label !== '') return 3;
  return to === END ? 1 : 2;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

interface PlacedEdge extends Partial<Point> {
  readonly points?: readonly Point[];
}

function waysOf(flow: FlowView): readonly Way[] {
  const known = new Set([...flow.steps.map(({ id }) => id), END]);
  const ways: Way[] = [{ from: START, to: flow.first, label: '' }];
  for (const { id, next } of flow.steps) {
    const isFork = next.length > 1;
    for (const { if: condition, to } of next) {
      const label = condition ?? (isFork ? 'else' : '');
      if (known.has(to)) ways.push({ from: id, to, label });
    }
    if (next.length === 0) ways.push({ from: id, to: END, label: '' });
  }
  return ways;
}

/** A curve through the bends: an edge goes from the center of one box to the center of the next. */
function lineOf(points: readonly Point[], from: PlacedNode, to: PlacedNode): string {
  const bends = points.slice(1, -1);
  const [first = from] = points;
  const last = points.at(-1) ?? to;
  const isDown = from.y < to.y;
  const start = isDown ? { x: from.x, y: from.y + from.height / 2 } : first;
  const end = isDown ? { x: to.x, y: to.y - to.height / 2 - tip } : { x: last.x, y: last.y + tip };
  let line = `M${start.x} ${start.y}`;
  let before: Point = start;
  for (const point of [...bends, end]) {
    const middle = (before.y + point.y) / 2;
    line += `C${before.x} ${middle} ${point.x} ${middle} ${point.x} ${point.y}`;
    before = point;
  }
  return line;
}
