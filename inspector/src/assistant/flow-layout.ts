import type { FlowView } from '../../../src/http/inspector/model.ts';
import { layOut, type PlacedEdge, type PlacedGraph } from '../ui/graph-layout.ts';
import { END, START } from './flow-path.ts';

interface FlowEdge {
  readonly from: string;
  readonly to: string;
  /** The condition; empty for an unconditional edge. */
  readonly text: string;
}

export type PlacedFlowEdge = FlowEdge & PlacedEdge;

const box = { width: 216, height: 54 };
const pill = { width: 72, height: 30 };

/** Labels are truncated to this many characters. */
export const maximumLabel = 30;

/** The width of a rendered label. */
export function labelWidth(text: string): number {
  return Math.min(text.length, maximumLabel) * 6.4 + 12;
}

/** Lays a flow out from top to bottom: every step below its predecessors, except for loops. */
export function flowLayout(flow: FlowView): PlacedGraph<FlowEdge> {
  const edges = edgesOf(flow);
  const nodes = [START, ...flow.steps.map(({ id }) => id), END]
    .filter((id) => id === START || edges.some(({ from, to }) => from === id || to === id))
    .map((id) => ({ id, ...(id === START || id === END ? pill : box) }));
  return layOut(
    nodes,
    edges.map((edge) => ({
      ...edge,
      // Steps are placed directly below their branch; only the edge to the end is long.
      weight: edge.text !== '' ? 3 : edge.to === END ? 1 : 2,
      ...(edge.text !== '' && { label: { width: labelWidth(edge.text), height: 20 } }),
    })),
    { direction: 'down', nodesep: 32, ranksep: 36, margin: 24 },
  );
}

function edgesOf(flow: FlowView): readonly FlowEdge[] {
  const known = new Set([...flow.steps.map(({ id }) => id), END]);
  const edges: FlowEdge[] = [];
  if (known.has(flow.first)) edges.push({ from: START, to: flow.first, text: '' });
  for (const { id, next } of flow.steps) {
    const isFork = next.length > 1;
    for (const { if: condition, to } of next) {
      const text = condition ?? (isFork ? 'else' : '');
      if (known.has(to)) edges.push({ from: id, to, text });
    }
    if (next.length === 0) edges.push({ from: id, to: END, text: '' });
  }
  return edges;
}
