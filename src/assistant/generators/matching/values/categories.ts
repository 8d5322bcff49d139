import { type JsonValue, textOfValue } from '../../../../protocol/index.ts';
import {
  isNearly,
  type Message,
  readMessage,
  type Token,
  wordsOf as wordsIn,
} from '../../words/words.ts';
import type { Found } from './found.ts';

interface CategoryOptions {
  /** The slot was asked for: typos and parts of a value count. */
  readonly isAsked: boolean;
  /** For other slots: typos and synonyms count, unless they are known words themselves. @default false */
  readonly isLenient?: boolean;
  /** Synonyms of a stem. @default those of the language */
  readonly meanings?: ((stem: string) => readonly string[]) | undefined;
}

/**
 * Finds the values of a categorical slot in a message, in order. Case, accents, plurals, `_` and `-` are
 * ignored; longer values win over shorter ones inside them.
 */
export function findCategories(
  message: Message,
  values: readonly JsonValue[],
  options: CategoryOptions,
): Found<JsonValue>[] {
  const candidates = values
    .filter((value) => value !== null)
    .map((value) => ({ value, tokens: readMessage(wordsOf(value), message.language).tokens }))
    .filter((candidate) => candidate.tokens.length > 0)
    .toSorted((one, two) => two.tokens.length - one.tokens.length);
  const exact = findAll(message, candidates, (one, two) => singular(one) === singular(two));
  if (exact.length > 0 || !(options.isAsked || options.isLenient)) return exact;
  const isTypo = ({ folded }: Token): boolean =>
    options.isAsked || (folded.length > 4 && !message.language.known.has(folded));
  const nearly = findAll(
    message,
    candidates,
    (one, two) => isTypo(two) && isNearly(one.folded, two.folded),
  );
  if (nearly.length > 0) return nearly;
  if (!options.isAsked) return byMeaning(message, candidates);
  const parts = byPart(message, candidates);
  return parts.length > 0 ? parts : byMeaning(message, candidates, options.meanings);
}

/** "Call me" for "phone": a synonym of a word that only one value has. */
function byMeaning(
  message: Message,
  candidates: readonly Candidate[],
  meanings: CategoryOptions['meanings'] = (stem) => message.language.synonyms.get(stem) ?? [],
): Found<JsonValue>[] {
  for (const { stem, start, end, isContent } of wordsIn(message)) {
    if (!isContent) continue;
    const same = new Set(meanings(stem));
    const owners = candidates.filter(({ tokens }) => tokens.some((part) => same.has(part.stem)));
    const only = owners.length === 1 ? owners[0] : undefined;
    if (only !== undefined) return [{ value: only.value, start, end }];
  }
  return [];
}

interface Candidate {
  readonly value: JsonValue;
  readonly tokens: readonly Token[];
}

function findAll(
  message: Message,
  candidates: readonly Candidate[],
  isSame: (one: Token, two: Token) => boolean,
): Found<JsonValue>[] {
  const found: Found<JsonValue>[] = [];
  for (const { value, tokens } of candidates) {
    for (let at = 0; at + tokens.length <= message.tokens.length; at += 1) {
      const window = message.tokens.slice(at, at + tokens.length);
      const fits = tokens.every((token, index) => {
        const other = window[index];
        return other !== undefined && isSame(token, other);
      });
      const [first, last] = [window[0], window.at(-1)];
      if (!fits || first === undefined || last === undefined) continue;
      const span = { start: first.start, end: last.end };
      if (found.some((one) => span.start < one.end && one.start < span.end)) continue;
      found.push({ value, ...span });
    }
  }
  return found.toSorted((one, two) => one.start - two.start);
}

/** "savings" for "savings account": a word that only one value has. */
function byPart(message: Message, candidates: readonly Candidate[]): Found<JsonValue>[] {
  const found: Found<JsonValue>[] = [];
  for (const token of message.tokens) {
    if (!token.isContent) continue;
    const owners = candidates.filter(({ tokens }) =>
      tokens.some((part) => part.stem === token.stem || isNearly(part.folded, token.folded)),
    );
    const only = owners.length === 1 ? owners[0] : undefined;
    if (only !== undefined && !found.some((one) => one.value === only.value)) {
      found.push({ value: only.value, start: token.start, end: token.end });
    }
  }
  return found;
}

/** Only plurals count as the same word: "check" is not "checking". */
function singular(token: Token): string {
  return token.folded.length > 3 ? token.folded.replace(/(?<![su])s$/, '') : token.folded;
}

/** Splits a value into words: `extra_large`, `extraLarge` and `extra-large` become "extra large". */
export function wordsOf(value: JsonValue): string {
  return textOfValue(value)
    .replaceAll(/[_-]+/g, ' ')
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .trim();
}
