import type { Way } from './flow-layout.ts';

/** Steps in layers: every way but those back leads to a lower one. */
export interface Layered {
  /** Ids from left to right; ways that pass a layer bend there. */
  readonly layers: readonly (readonly string[])[];
  /** Ways cut into pieces from one layer to the next. */
  readonly pieces: readonly (Way & { readonly layer: number })[];
  /** The ids on each way, bends included; undefined for a way back. In the order of the ways. */
  readonly chains: readonly (readonly string[] | undefined)[];
  layerOf(id: string): number;
  isBend(id: string): boolean;
}

export function layersOf(ids: readonly string[], ways: readonly Way[]): Layered {
  const isBack = waysBack(ids, ways);
  const forward = ways.filter((_, index) => !isBack.has(index));
  const depth = depths(ids, forward);
  const bends = new Set<string>();
  const pieces: (Way & { layer: number })[] = [];
  const chains = ways.map((way, index) => {
    if (isBack.has(index)) return undefined;
    const top = depth.get(way.from) ?? 0;
    const bottom = depth.get(way.to) ?? 0;
    const chain = [way.from];
    for (let layer = top + 1; layer < bottom; layer += 1) {
      const bend = `bend ${index} ${layer}`;
      bends.add(bend);
      depth.set(bend, layer);
      chain.push(bend);
    }
    chain.push(way.to);
    for (const [at, from] of chain.slice(0, -1).entries()) {
      const to = chain[at + 1] ?? way.to;
      pieces.push({ from, to, label: at === 0 ? way.label : '', layer: top + at });
    }
    return chain;
  });
  const layers: string[][] = [];
  for (const [id, layer] of depth) (layers[layer] ??= []).push(id);
  return {
    layers: ordered(
      Array.from(layers, (layer) => layer ?? []),
      pieces,
    ),
    pieces,
    chains,
    layerOf: (id) => depth.get(id) ?? 0,
    isBend: (id) => bends.has(id),
  };
}

/** Ways that lead back to a step one came from; without them there are no circles. */
function waysBack(ids: readonly string[], ways: readonly Way[]): ReadonlySet<number> {
  const back = new Set<number>();
  const done = new Set<string>();
  const open = new Set<string>();
  const visit = (id: string): void => {
    if (done.has(id)) return;
    open.add(id);
    for (const [index, { from, to }] of ways.entries()) {
      if (from !== id) continue;
      if (open.has(to)) back.add(index);
      else visit(to);
    }
    open.delete(id);
    done.add(id);
  };
  for (const id of ids) visit(id);
  return back;
}

/** As deep as the longest way to each. */
function depths(ids: readonly string[], ways: readonly Way[]): Map<string, number> {
  const depth = new Map(ids.map((id) => [id, 0]));
  for (let isMoving = true; isMoving;) {
    isMoving = false;
    for (const { from, to } of ways) {
      const least = (depth.get(from) ?? 0) + 1;
      if ((depth.get(to) ?? 0) >= least) continue;
      depth.set(to, least);
      isMoving = true;
    }
  }
  return depth;
}

const sweeps = 8;

/** Puts each step near the middle of those it is tied to, so that few ways cross. */
function ordered(
  layers: readonly string[][],
  pieces: readonly (Way & { readonly layer: number })[],
): readonly (readonly string[])[] {
  const current = layers.map((layer) => [...layer]);
  for (let sweep = 0; sweep < sweeps; sweep += 1) {
    const isDown = sweep % 2 === 0;
    const order = isDown ? [...current.keys()] : [...current.keys()].reverse();
    for (const index of order) {
      const layer = current[index] ?? [];
      const other = current[isDown ? index - 1 : index + 1];
      if (other === undefined) continue;
      const weight = new Map(
        layer.map((id, at) => {
          const tied = pieces
            .filter(({ from, to }) => (isDown ? to : from) === id)
            .map(({ from, to }) => other.indexOf(isDown ? from : to))
            .filter((place) => place >= 0);
          const mean = tied.reduce((sum, place) => sum + place, 0) / tied.length;
          return [id, tied.length === 0 ? at : mean];
        }),
      );
      layer.sort((one, two) => (weight.get(one) ?? 0) - (weight.get(two) ?? 0));
    }
  }
  return current;
}
