import { english, type Language } from '../words/language.ts';
import { fold, type Message, overlaps, type Span, type Token } from '../words/words.ts';
import { type Found, isDenied } from './values/found.ts';

/** Words that can't be part of a name. */
const stops = new Set(
  `and or then but because so now today tomorrow please instead not using if when while which that is
   are was asap immediately thanks thank thx thanx tnx ty cheers pls plz via worth saying as plus also my our your his her its their the back
   every each monthly weekly daily yearly once twice tonight`.split(/\s+/),
);
const determiners = new Set('my the a an our your his her their this that some'.split(' '));
/** "my brother Bob" is Bob. */
const relations = new Set(
  `friend mate colleague brother sister mother father mom mum dad son daughter wife husband partner
   boss neighbour neighbor aunt uncle cousin landlord flatmate roommate`.split(/\s+/),
);
const pronouns = new Set(
  'me it him her them us you that this someone somebody one there here everyone nobody anyone what who'.split(
    ' ',
  ),
);
/** Words that form an infinitive with a following "to": "want to ...". */
const leads = new Set(
  'want wants like need have trying going able wish love how ready happy used plan planning try needed wanted prefer forgot'.split(
    ' ',
  ),
);
const verbs = new Set(
  `send transfer pay make do get have know see check show book change cancel add remove talk speak buy order go use
   be ask tell find open close block freeze move set update give wire view list start stop schedule reserve say
   discuss try take put create delete apply report return let look`
    .split(/\s+/)
    .map((word) => english.stem(word)),
);
/** Verbs that can be followed directly by a person: "pay Bob 50". */
const givingVerbs = new Set(
  ['send', 'pay', 'give', 'transfer', 'wire', 'lend', 'owe', 'text', 'call', 'remit'].map((word) =>
    english.stem(word),
  ),
);
const title = /^(?:mr|mrs|ms|mx|dr|prof|st|sr|rev|hr|fr)$/;
const mostWords = 5;

/** The names after one of the prepositions, in the order of the message. */
export function findNames(
  message: Message,
  announcedBy: readonly string[],
  taken: readonly Span[],
): Found<string>[] {
  const found: Found<string>[] = [];
  for (const [index, token] of message.tokens.entries()) {
    if (!announcedBy.includes(token.folded) || isInfinitive(message, index)) continue;
    if (isDenied(message, token)) continue;
    const name = nameFrom(message, index + 1, taken);
    if (name !== undefined) found.push({ ...name, start: token.start });
  }
  if (found.length > 0 || !announcedBy.includes('to')) return found;
  const given = givenTo(message, taken) ?? getting(message, taken);
  return given === undefined ? [] : [given];
}

/** "Tom gets 20 euros from me": the person at the start of the message, before the amount. */
function getting(message: Message, taken: readonly Span[]): Found<string> | undefined {
  const verb =
    /^[\p{L} ]{2,30} (?:gets|needs|receives|should (?:get|have)|wants) (?=(?:[$€£]\s?)?\S)/u.exec(
      message.folded,
    );
  if (verb === null) return undefined;
  const amount = taken.find((span) => Math.abs(span.start - verb[0].length) < 3);
  const name =
    amount === undefined
      ? undefined
      : nameFrom(message, 0, [{ start: verb[0].length, end: message.text.length }]);
  if (name === undefined) return undefined;
  const value = name.value.replace(/ (?:gets|needs|receives|should|wants)\b.*$/i, '');
  return { ...name, value };
}

const introduction =
  /^(?:[\p{L} ]{2,15}[\s,.!]+)?(?:[Mm]y name(?:'s| is) \p{L}|(?:[Tt]his is|[Ii](?:'m| am)) \p{Lu})[\p{L}'-]*(?: \p{Lu}[\p{L}'-]*){0,3}(?: here| speaking)?(?:[\s,.!;-]+and|\s*[,.!;]|\s+-)\s+(?=\S)/u;

/** "Hi, my name is Paul and ...": the range that names the user, not the person in the request. */
export function introducedIn({ text }: Message): Span | undefined {
  const match = introduction.exec(text);
  return match === null ? undefined : { start: 0, end: match[0].length };
}

/** Sequences of capitalised words after the first word: "add Bob Smith to my contacts". */
export function findCapitals(message: Message, taken: readonly Span[]): Found<string>[] {
  if (/^[^\p{Ll}]*$/u.test(message.text)) return [];
  const found: { value: string; start: number; end: number }[] = [];
  for (const token of message.tokens.slice(1)) {
    const isName = /^\p{Lu}\p{Ll}/u.test(token.text) && !message.language.fillers.has(token.folded);
    if (!isName || taken.some((span) => overlaps(span, token)) || isDenied(message, token))
      continue;
    const last = found.at(-1);
    const gap = last === undefined ? '' : message.text.slice(last.end, token.start);
    const isTitled = gap === '. ' && title.test(fold(last?.value ?? ''));
    if (last !== undefined && (gap === ' ' || isTitled)) {
      last.end = token.end;
      last.value = message.text.slice(last.start, token.end);
    } else if (!/[.!?]\s*$/.test(message.text.slice(0, token.start))) {
      found.push({ value: token.text, start: token.start, end: token.end });
    }
  }
  return found.map((one) => ({ ...one, value: one.value.replace(/'s$/i, '') }));
}

/** A lower-case name next to the flow's own words: "remove bob from my contacts", "the contact bob". */
export function findObject(
  message: Message,
  taken: readonly Span[],
  own: ReadonlySet<string>,
): Found<string> | undefined {
  const { tokens, language } = message;
  const isName = (found: Found<string> | undefined): found is Found<string> =>
    found !== undefined &&
    tokens
      .filter((token) => overlaps(token, found))
      .every(
        ({ folded, stem }) =>
          !own.has(stem) &&
          !language.fillers.has(folded) &&
          ![language.generic, language.weak, language.light].some((words) => words.has(stem)),
      );
  for (const [index, token] of tokens.entries()) {
    const isVerb = language.generic.has(token.stem) && !own.has(tokens[index + 1]?.stem ?? '');
    const name = isVerb || own.has(token.stem) ? nameFrom(message, index + 1, taken) : undefined;
    if (!isName(name)) continue;
    const [preposition, ...after] = tokens.filter((one) => one.start >= name.end).slice(0, 3);
    const isAtOwn =
      preposition !== undefined &&
      /^(?:to|from|as|in|on|off)$/.test(preposition.folded) &&
      after.some(({ stem }) => own.has(stem));
    if (isVerb && isAtOwn) return name;
    const words = tokens.filter((one) => overlaps(one, name));
    const isNamed = words.every(({ folded }) => !language.known.has(folded));
    if (!isVerb && isNamed && words[0] === tokens[index + 1]) return name;
  }
  return undefined;
}

/** "pay Bob 50", "send my mom $20": the person between the verb and the amount. */
function givenTo(message: Message, taken: readonly Span[]): Found<string> | undefined {
  const index = message.tokens.findIndex((token) => givingVerbs.has(token.stem));
  const name = index < 0 ? undefined : nameFrom(message, index + 1, taken);
  if (name === undefined) return undefined;
  const isBeforeNumber =
    /^\s*(?:[$€£]\s?)?\d|^\s*(?:a hundred|fifty|twenty|ten|thirty|forty)\b/i.test(
      message.text.slice(name.end),
    );
  const isCapital = /^\p{Lu}/u.test(name.value);
  return isBeforeNumber || isCapital ? name : undefined;
}

/**
 * Whether a token ends a name. "Send Bob money": so does a known lower-case word after a capitalised one.
 */
function isBehindName(token: Token, previous: Token | undefined, language: Language): boolean {
  if (stops.has(token.folded) || language.prepositions.has(token.folded)) return true;
  const isCommon = /^\p{Ll}/u.test(token.text) && language.known.has(token.folded);
  return isCommon && previous !== undefined && /^\p{Lu}/u.test(previous.text);
}

function nameFrom(
  message: Message,
  from: number,
  taken: readonly Span[],
): Found<string> | undefined {
  const words: Token[] = [];
  for (const token of message.tokens.slice(from)) {
    const previous = words.at(-1);
    const gap = previous === undefined ? '' : message.text.slice(previous.end, token.start);
    const isEnd =
      words.length === mostWords ||
      /[,.;!?"]/.test(title.test(previous?.folded ?? '') ? gap.replace('.', '') : gap) ||
      taken.some((span) => overlaps(span, token)) ||
      /^\d/.test(token.folded);
    if (isEnd) break;
    if (previous === undefined && determiners.has(token.folded)) continue;
    if (isBehindName(token, previous, message.language)) break;
    words.push(token);
  }
  const [first, second] = words;
  if (first === undefined || pronouns.has(first.folded)) return undefined;
  const isRelation =
    second !== undefined &&
    relations.has(first.folded) &&
    (/^\p{Lu}/u.test(second.text) || !message.language.known.has(second.folded));
  const start = isRelation ? second : first;
  const last = words.at(-1) ?? first;
  if (words.every((word) => message.language.fillers.has(word.folded))) return undefined;
  return {
    value: message.text.slice(start.start, last.end).replace(/'s$/i, ''),
    start: start.start,
    end: last.end,
  };
}

/** "want to send", "how to pay": this "to" doesn't precede a recipient. */
function isInfinitive(message: Message, index: number): boolean {
  if (message.tokens[index]?.folded !== 'to') return false;
  const before = message.tokens[index - 1];
  const after = message.tokens[index + 1];
  if (before !== undefined && leads.has(before.folded)) return true;
  return after !== undefined && verbs.has(after.stem) && !/^\p{Lu}/u.test(after.text);
}

const leadIn =
  /^(?:(?:it|that|this|he|she|they)(?:'s| is| are| was)|its|(?:my|the|his|her|their)(?: [\w-]+){1,3} (?:is|would be|should be)|i(?:'m| am)|call me|make (?:it|that)|let's (?:say|go with|do|take)|i(?:'d| would) (?:like|say|go with|choose|prefer)(?: to)?|i (?:choose|pick|take|want|mean|meant|need|think|guess)(?: it's| to)?|i(?:'ll| will) (?:take|go with|have)|how about|what about|maybe|probably|perhaps|just|please|ok(?:ay)?|sure|well|um+|uh+|oh|so|actually|sorry|(?:yes|yeah|no)(?=,))(?=[\s,:])[\s,:]+/i;
const tail =
  /[\s,]+(?:please|pls|plz|thanks|thank you|thx|cheers|instead|i think|i guess)[\s.!]*$/i;

/** Strips the words around a short answer: "It's Bob, please." is "Bob". Never strips everything. */
export function cleanAnswer(text: string, announcedBy: readonly string[]): string {
  const quoted = /^[^"]*"([^"]{1,200})"[^"]*$/.exec(text)?.[1]?.trim();
  if (quoted) return quoted;
  let answer = text;
  for (let round = 0; round < 4; round += 1) {
    const shorter = answer.replace(leadIn, '').replace(tail, '');
    if (shorter === answer || !/[\p{L}\p{N}]/u.test(shorter)) break;
    answer = shorter;
  }
  const first = /^([a-z]+)\s+(?=\S)/i.exec(answer);
  const isAnnounced =
    first !== null &&
    ['to', 'for', 'from', 'with', ...announcedBy].includes((first[1] ?? '').toLowerCase());
  if (isAnnounced) answer = answer.slice(first[0].length);
  const related = /^(?:my|our|his|her|their) ([a-z]+) (?=\p{L})/u.exec(answer);
  if (related !== null && relations.has(related[1] ?? '')) answer = answer.slice(related[0].length);
  const trimmed = answer
    .replace(/^[\s"'.,;:!?-]+|[\s"',;:!?]+$/g, '')
    .replace(/(?<!\b\p{L})\.$/u, '');
  return trimmed === '' ? text.trim() : trimmed;
}
