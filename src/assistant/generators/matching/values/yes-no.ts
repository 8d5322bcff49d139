import type { SlotProfile } from '../slot-profile.ts';
import { type Message, messageOf, type Token, wordsOf } from '../../words/words.ts';

/** Phrases that decide at any position. They are checked first, so that "no problem" is not a "no". */
const phrases: readonly (readonly [RegExp, boolean])[] = [
  [
    /\b(?:no problem|no worries|no objections?|not a problem|why not|can't complain|by all means)\b/,
    true,
  ],
  [
    /\b(?:i do(?:n't| not) (?:think so|want|wish|need|agree)|(?:do|did|does|is|was|are|am|will|would|can)(?: ?n't|nt| not)|not (?:really|yet|now|at all|today|quite|correct|right|ok|okay|good|interested|this time|exactly|necessary|so sure)|rather not|no way|no thank(?:s| you)|nothing (?:else|more)|too (?:cold|hot|windy|loud|wet|expensive|late|early|far)|that(?:'s| is|s) (?:all|it|everything|enough|wrong|not (?:it|right|correct))|i(?:'m| am|m) (?:good|fine|done|all set|ok)\b(?! with)|all (?:good|set|done))\b/,
    false,
  ],
  [
    /\b(?:go ahead|go for it|sounds? (?:good|great|right|fine|perfect)|looks? (?:good|great|right|fine|correct)|(?:that|this|it)(?:'s| is|s) (?:right|correct|fine|ok|okay|good|true|perfect|great)|please do|do it|do that|of course|for sure|i (?:do|am|would|did|have|think so|guess so|suppose so|confirm|agree|accept|hope so)|all right|i'd (?:like|love) (?:that|to)|let's (?:do (?:it|this|that)|go))\b/,
    true,
  ],
];

/** "Book it": confirms the action in question. */
const goAhead =
  /^go[.! ]*$|^(?:please |ok(?:ay)?,? |just |then )*(?:book|send|order|submit|place|make|confirm|transfer|pay|buy|save|schedule|reserve|finish|complete) (?:it|that|this|them)(?: (?:please|now|then))?[.! ]*$/;

/** "Absolutely not": a negated affirmation. */
const denied =
  /\b(?:absolutely|definitely|certainly|surely|totally|obviously|clearly|of course|for sure|hell|preferably|probably|better|i (?:hope|think|guess|suppose)) not\b(?! (?:an? )?(?:problem|issue|bad)\b)/;

/** Neither yes nor no, although it can contain words of both. */
const hesitating =
  /^(?:(?:hm+|um+|uh+|well|oh|so|ok|okay|i think|sorry)[\s,.]*)*(?:maybe|perhaps|possibly|not sure|not so sure|not quite sure|not really sure|i(?:'m| am|m) not (?:so |quite |really |too )?(?:sure|certain)|unsure|dunno|idk|i? ?(?:do ?n'?t|do not|dont) (?:really )?(?:know|mind|care)|(?:it )?(?:does ?n'?t|does not) (?:really )?matter|no preference|up to you|you (?:choose|decide)|it depends|depends|good question|whatever|either|no idea|no clue|hard to say|undecided|not decided|i(?:'m| am) undecided|let me think)\b(?!.{25})|^(?:hm+|um+|uh+|er+m*)[.!?\s]*$/;

const yes = new Set(
  `yes yeah yea yep yup yess yes'm ya ye yas y sure surely ok okay okey okie k kk fine correct right exactly
   true absolutely definitely certainly indeed affirmative confirm confirmed confirming agreed agree accept accepted
   perfect great positive alright aye please proceed continue yessir si oui ja totally deal`.split(
    /\s+/,
  ),
);
const no = new Set(
  `no nope nah na n not never negative false wrong incorrect nay non nein neither none decline declined
   refuse reject disagree noo nooo`.split(/\s+/),
);

/** Words for yes that can also precede a no: "ok no", "please no". */
const mild = new Set('ok okay okey okie k kk right fine alright please yeah'.split(' '));

/** Words around a yes or no that don't change it. */
const around = new Set(
  `please thanks thank you very much it that this is the a well oh um uh hmm i think so just then now
   do and but go ahead all much for to rather`.split(/\s+/),
);

/**
 * Returns true for yes, false for no, undefined for neither. A message with both is neither, unless it
 * starts with one of them.
 */
export function readYesNo(message: Message): boolean | undefined {
  if (/^[\s!.]*(?:👍|✅|👌|✔️?|🙂)/u.test(message.text)) return true;
  if (/^[\s!.]*(?:👎|❌|🚫)/u.test(message.text)) return false;
  if (hesitating.test(message.folded)) return undefined;
  if (goAhead.test(message.folded)) return true;
  if (denied.test(message.folded)) return false;
  const tokens = message.tokens.map(asMeant);
  const first = tokens.find((token) => !isOpening(token.folded));
  for (const [pattern, value] of phrases) {
    if (!pattern.test(message.folded)) continue;
    // "yes, I'm good" is a yes: the first word takes precedence over a later phrase.
    if (first !== undefined && yes.has(first.folded) && !value) return true;
    if (
      first !== undefined &&
      no.has(first.folded) &&
      value &&
      !/^no (?:problem|worries|objection)/.test(message.folded)
    )
      return false;
    return value;
  }
  if (first === undefined) return undefined;
  if (no.has(first.folded)) return false;
  if (yes.has(first.folded)) return affirmed(first, tokens);
  if (tokens.length > 6) return undefined;
  const [anyYes, anyNo] = [
    tokens.some((token) => yes.has(token.folded)),
    tokens.some((token) => no.has(token.folded)),
  ];
  return anyYes === anyNo ? undefined : anyYes;
}

/** The result for a message that starts with yes: true, unless a no follows. */
function affirmed(first: Said, tokens: readonly Said[]): boolean | undefined {
  const rest = tokens.slice(tokens.indexOf(first) + 1);
  const hasNo = rest.some(({ folded }) => no.has(folded));
  if (hasNo && rest.every(isBare)) return mild.has(first.folded) ? false : undefined;
  return hasNo && tokens.length > 4 ? undefined : true;
}

/**
 * Whether a message names a slot (true) or its opposite (false): "outside" and "inside" for a slot
 * `outside`.
 */
export function saysSlot(message: Message, { names }: SlotProfile): boolean | undefined {
  const { synonyms, opposites } = message.language;
  const isNamed = (stem: string): boolean =>
    names.has(stem) || (synonyms.get(stem) ?? []).some((other) => names.has(other));
  for (const { stem, at } of wordsOf(message)) {
    const before = message.tokens[at - 1]?.folded ?? '';
    const isNegated = /^(?:not|no|never|without|don't)$/.test(before);
    if (isNamed(stem)) return !isNegated;
    if ((opposites.get(stem) ?? []).some(isNamed)) return isNegated;
  }
  return undefined;
}

/** Whether a message is only a yes or no. */
export function isBareYesNo(message: Message): boolean {
  return message.tokens.map(asMeant).every(isBare);
}

function isBare({ folded }: Said): boolean {
  return yes.has(folded) || no.has(folded) || around.has(folded);
}

type Said = Pick<Token, 'folded' | 'end'>;

/** Collapses repeated letters: "Nooooo" is no. */
function asMeant({ folded, end }: Token): Said {
  return { folded: folded.replaceAll(/(\p{L})\1{2,}/gu, '$1'), end };
}

/** The yes or no at the start of a message, and the rest; undefined without one. */
export function afterYesNo(
  message: Message,
): { readonly value: boolean; readonly rest: Message } | undefined {
  const first = message.tokens.map(asMeant).find((token) => !isOpening(token.folded));
  if (first === undefined) return undefined;
  const value = yes.has(first.folded) ? true : no.has(first.folded) ? false : undefined;
  if (value === undefined) return undefined;
  return {
    value,
    rest: messageOf(message.text.slice(first.end).replace(/^[\s,.;:!-]+/, ''), message.language),
  };
}

function isOpening(word: string): boolean {
  return ['oh', 'um', 'uh', 'hmm', 'well', 'ah', 'eh', 'so', 'and'].includes(word);
}
