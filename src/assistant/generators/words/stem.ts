/** Lower case without accents. */
export function fold(text: string): string {
  return text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
}

/**
 * What the forms of an English word share, near enough for comparing: "transfers", "transferring"
 * and "transferred" become "transfer". Stems are for comparing only, never for showing.
 */
export function stem(word: string): string {
  let root = word.replace(/'s?$/, '');
  if (root.length > 4 && root.endsWith('ies')) root = `${root.slice(0, -3)}y`;
  else if (root.length > 4 && /(?:ss|x|z|ch|sh)es$/.test(root)) root = root.slice(0, -2);
  else if (root.length > 3 && /[^su]s$/.test(root)) root = root.slice(0, -1);

  for (const [ending, shortest] of endings) {
    if (!root.endsWith(ending) || root.length - ending.length < shortest) continue;
    root = root.slice(0, -ending.length);
    // cancelling, transferred, booking: a doubled consonant belongs to the ending.
    if (/([bdfgklmnprt])\1$/.test(root)) root = root.slice(0, -1);
    break;
  }
  return root.length > 3 && root.endsWith('e') ? root.slice(0, -1) : root;
}

/** Endings with the least number of letters that must stay. */
const endings: readonly (readonly [string, number])[] = [
  ['ation', 4],
  ['ment', 3],
  ['ing', 3],
  ['ed', 3],
];
