import type { FlowView } from '../../../src/http/inspector/model.ts';
import { END, START } from './flow-path.ts';
import { layersOf } from './layers.ts';
import { placesIn } from './layer-places.ts';

/** A box of the diagram; `x` and `y` are its middle. Units are those of the drawing. */
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
  /** As a path of SVG. */
  readonly line: string;
  /** The condition; empty for a way that is always taken. */
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

export interface Way {
  readonly from: string;
  readonly to: string;
  readonly label: string;
}

const box = { width: 216, height: 54 };
const pill = { width: 72, height: 30 };
const gapX = 32;
const gapY = 40;
const labelledGapY = 68;
const margin = 24;

/** Draws a flow from top to bottom: every step below those that lead to it, ways back at the side. */
export function flowLayout(flow: FlowView): FlowLayout {
  const ways = waysOf(flow);
  const ids = [START, ...flow.steps.map(({ id }) => id), END].filter(
    (id) => id === START || ways.some(({ from, to }) => from === id || to === id),
  );
  const layered = layersOf(ids, ways);
  const sizeOf = (id: string) =>
    id === START || id === END ? pill : layered.isBend(id) ? bend : box;
  const places = placesIn(layered, (id) => sizeOf(id).width, gapX);
  const tops = topsOf(layered.layers, layered.pieces);
  const at = (id: string) => ({
    x: (places.get(id) ?? 0) + margin,
    y: (tops[layered.layerOf(id)] ?? 0) + margin + box.height / 2,
  });
  const nodes = ids.map((id) => ({ id, ...at(id), ...sizeOf(id) }));
  const right = Math.max(...nodes.map(({ x, width }) => x + width / 2));
  const placed = ways.map((way, index) => {
    const chain = layered.chains[index];
    return chain === undefined
      ? wayBack(way, at, right, sizeOf)
      : wayDown(way, chain.map(at), sizeOf(way.from).height, sizeOf(way.to).height);
  });
  const hasBack = layered.chains.includes(undefined);
  return {
    width:
      Math.max(right, ...placed.map(({ labelX, label }) => labelX + label.length * 3.4)) +
      margin +
      (hasBack ? 44 : 0),
    height: (tops.at(-1) ?? 0) + box.height + 2 * margin,
    nodes,
    ways: placed,
  };
}

const bend = { width: 24, height: 0 };

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

/** Layers whose ways have labels stand further apart. */
function topsOf(
  layers: readonly (readonly string[])[],
  pieces: readonly (Way & { readonly layer: number })[],
): readonly number[] {
  const tops: number[] = [];
  let top = 0;
  for (const index of layers.keys()) {
    tops.push(top);
    const isLabelled = pieces.some(({ layer, label }) => layer === index && label !== '');
    top += box.height + (isLabelled ? labelledGapY : gapY);
  }
  return tops;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

function wayDown(
  way: Way,
  points: readonly Point[],
  fromHeight: number,
  toHeight: number,
): PlacedWay {
  const last = points.length - 1;
  const ends = points.map(({ x, y }, index) => ({
    x,
    y: index === 0 ? y + fromHeight / 2 : index === last ? y - toHeight / 2 - 6 : y,
  }));
  let line = '';
  for (const [index, point] of ends.entries()) {
    const before = ends[index - 1];
    if (before === undefined) line += `M${point.x} ${point.y}`;
    else {
      const middle = (before.y + point.y) / 2;
      line += `C${before.x} ${middle} ${point.x} ${middle} ${point.x} ${point.y}`;
    }
  }
  const [first = { x: 0, y: 0 }, second = first] = ends;
  // Near the end of the first piece, where ways of one step have parted.
  const labelX = first.x + (second.x - first.x) * 0.8;
  const labelY = first.y + (second.y - first.y) * (ends.length > 2 ? 0.5 : 0.62);
  return { ...way, line, labelX, labelY };
}

function wayBack(
  way: Way,
  at: (id: string) => Point,
  right: number,
  sizeOf: (id: string) => { readonly width: number },
): PlacedWay {
  const from = at(way.from);
  const to = at(way.to);
  const start = from.x + sizeOf(way.from).width / 2;
  const end = to.x + sizeOf(way.to).width / 2 + 6;
  const side = right + 30;
  const line = `M${start} ${from.y}C${side} ${from.y} ${side} ${from.y} ${side} ${(from.y + to.y) / 2}S${side} ${to.y} ${end} ${to.y}`;
  return { ...way, line, labelX: side - 16, labelY: (from.y + to.y) / 2 };
}
