/**
 * Normalizes a name of an agent or skill for comparison: ignores case, and treats composed and decomposed
 * accents as equal.
 */
export function foldName(name: string): string {
  return name.normalize('NFC').toLowerCase();
}
