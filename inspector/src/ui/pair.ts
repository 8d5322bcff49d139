export type Pair = readonly [name: string, value: string];

/** The pairs as an object; omits pairs without a name. */
export function pairsObject(pairs: readonly Pair[]): Record<string, string> {
  return Object.fromEntries(pairs.filter(([name]) => name.trim() !== '' && name !== '__proto__'));
}
