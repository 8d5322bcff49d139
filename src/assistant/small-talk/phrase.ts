/** Words that `...` stands for. */
const anyWords = '\\S+(?: \\S+){0,5}';

/**
 * A phrase of the small-talk table as the source of a regular expression. Phrases cannot nest and have no
 * repetition without a bound, so that matching stays linear whatever they are.
 */
export function phrasePattern(phrase: string): string {
  let pattern = '';
  let hasRequired = false;
  for (const [token] of phrase.matchAll(/\[[^\]]*\]|\([^)]*\)|[^\s[(]+/g)) {
    const isOptional = token.startsWith('[');
    const choice = choicePattern(token.replace(/^[[(]|[\])]$/g, ''));
    if (hasRequired) pattern += isOptional ? `(?: ${choice})?` : ` ${choice}`;
    else pattern += isOptional ? `(?:${choice} )?` : choice;
    hasRequired ||= !isOptional;
  }
  return pattern;
}

function choicePattern(choice: string): string {
  const alternatives = choice
    .split('|')
    .map((words) => (words === '...' ? anyWords : escape(words).replaceAll('\\.\\.\\.', anyWords)));
  return `(?:${alternatives.join('|')})`;
}

function escape(words: string): string {
  return words.trim().replaceAll(/[\\^$.*+?{}()[\]|/]/g, '\\$&');
}
