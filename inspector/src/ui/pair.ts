export type Pair = readonly [name: string, value: string];

/** As an object; pairs without a name are left out. */
export function pairsObject(pairs: readonly Pair[]): Record<string, string> {
  return Object.fromEntries(pairs.filter(([name]) => name.trim() !== '' && name !== '__proto__'));
}
