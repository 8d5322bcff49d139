import { editDistance } from '../../../config/index.ts';

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

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/));

/** Words that say nothing about what is wanted. */
export const fillers = words(
  `a an the this that these those some any all it its i me my mine we us our you your he she they
   them their am is are was were be been being do does did doing done have has had having will
   would shall should can could may might must want wants wanted wish need needs needed like love
   please kindly just really actually maybe perhaps now again also too so then well okay ok yes no
   not hi hello hey thanks thank there here and or but if of to for from in on at with by about as
   into onto via per than im id ill ive youre lets let's i'm i'd i'll i've gonna wanna going go get
   got make made making help try trying able possible could'nt what what's whats whom
   whose how why one thing things something anything else more much many good great um
   uh hmm oh sorry sir madam dear today soon right quickly quick asap myself yourself another
   don't dont doesn't isn't can't cannot give take put us up out over off how's
   looking forward time ahead first later next someone somebody
   anyone people euro euros eur dollar dollars usd buck bucks pound pounds gbp quid chf francs
   cents kg km`,
);

/** Words so common in requests that missing one says little. */
export const weakWords = new Set(
  'show list see view tell check look find know display start say ask use work when where who which'
    .split(' ')
    .map(stem),
);

/** Words that open a place, a person or a reason: what follows is about the request, not the request. */
export const prepositions = words(
  'to from for with at on in by of about into onto via near until till since before after between because regarding called named saying',
);

/** Groups of words that mean the same in requests. */
const groups = [
  'send transfer pay wire remit',
  'show list view see display',
  'add create register new',
  'remove delete erase',
  'change update edit modify',
  'book schedule reserve arrange',
  'freeze block lock',
  'unfreeze unblock unlock',
  'buy purchase order',
  'begin start open',
  'close end terminate',
  'check verify',
  'find search',
  'cash money',
  'bill invoice',
  'trip travel journey',
  'flat apartment',
  'mobile phone cell',
].map((group) => group.split(' ').map(stem));

const byStem = new Map<string, readonly string[]>();
for (const group of groups) {
  for (const one of group) {
    const others = group.filter((other) => other !== one);
    byStem.set(one, [...(byStem.get(one) ?? []), ...others]);
  }
}

/** Stems that mean nearly the same, without the stem itself. */
export function synonymsOf(stemmed: string): readonly string[] {
  return byStem.get(stemmed) ?? [];
}

/** A word or number of a message, with its place in `Message.text`. */
export interface Token {
  readonly text: string;
  /** Lower case, without accents. */
  readonly folded: string;
  readonly stem: string;
  readonly start: number;
  readonly end: number;
  /** Says something about what is wanted. */
  readonly isContent: boolean;
}

/** A stretch of a message, by character positions. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** What the user said, ready for reading. */
export interface Message {
  /** Whitespace collapsed, quotes straightened; letters as they were typed. */
  readonly text: string;
  /** Lower case without accents; the same length as `text`. */
  readonly folded: string;
  readonly tokens: readonly Token[];
}

/** Longer messages are cut before any work: cost is bounded by this, not by the sender. */
export const maximumCharacters = 2_000;

/**
 * Reads a message. Cost is bounded whatever the length: only the beginning is looked at.
 */
export function readMessage(raw: string): Message {
  const text = raw
    .slice(0, maximumCharacters)
    .normalize('NFC')
    .replaceAll(/[\u2018\u2019\u201B\u02BC]/g, "'")
    .replaceAll(/[\u201C\u201D\u201E]/g, '"')
    .replaceAll(/[\u2013\u2014]/g, '-')
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim();
  return messageOf(text);
}

/** A part of a message as one of its own. */
export function messageOf(text: string): Message {
  const folded = foldSameLength(text);
  const tokens: Token[] = [];
  for (const match of folded.matchAll(/[\p{L}\p{N}]+(?:'[\p{L}]+)?/gu)) {
    const word = match[0];
    const start = match.index;
    const end = start + word.length;
    const isContent = !fillers.has(word) && !/^\d+$/.test(word) && !/^\p{L}$/u.test(word);
    tokens.push({
      text: text.slice(start, end),
      folded: word,
      stem: stem(word),
      start,
      end,
      isContent,
    });
  }
  return { text, folded, tokens };
}

/** Folds letter by letter, so that positions stay the same. */
function foldSameLength(text: string): string {
  if (/^[ -~]*$/.test(text)) return text.toLowerCase();
  return Array.from(text, (letter) => {
    const folded = fold(letter);
    return folded.length === letter.length ? folded : letter;
  }).join('');
}

export function overlaps(one: Span, two: Span): boolean {
  return one.start < two.end && two.start < one.end;
}

/** The message without some stretches of it; positions are lost. */
export function without(message: Message, spans: readonly Span[]): Message {
  const ordered = spans.toSorted((a, b) => a.start - b.start);
  let text = '';
  let from = 0;
  for (const span of ordered) {
    if (span.start > from) text += message.text.slice(from, span.start);
    from = Math.max(from, span.end);
  }
  return messageOf(`${text}${message.text.slice(from)}`.replaceAll(/\s+/g, ' ').trim());
}

/** Mistakes that a word of this length may have and still be itself. */
export function allowedMistakes(length: number): number {
  if (length < 4) return 0;
  return length < 8 ? 1 : 2;
}

/** Whether two words are the same but for typing mistakes. */
export function isNearly(one: string, two: string): boolean {
  const limit = allowedMistakes(Math.min(one.length, two.length));
  return limit > 0 && editDistance(one, two, limit) <= limit;
}
