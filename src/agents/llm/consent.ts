/**
 * Phrases by what they mean for a request to confirm. Stricter than understanding of language has to
 * be: a message is a yes only where every word of it belongs to one.
 */
const yes = `yes|y|yeah|yea|yep|yup|ok|okay|sure|sure thing|fine|good|great|perfect|right|correct|exactly|absolutely|
definitely|certainly|indeed|affirmative|agreed|i agree|confirm|confirmed|i confirm|approve|approved|i approve|accept|
accepted|allow|allowed|proceed|continue|true|go|go ahead|go for it|go on|carry on|do|do it|do that|do so|please do|
run it|send it|make it so|of course|sounds good|looks good|all right|alright|by all means|you may|you can|that's fine|
that is fine|that's right|no problem|why not|ja|ja gerne|ja bitte|gerne|jawohl|klar|mach das|einverstanden|si|sí|claro|
adelante|oui|d'accord|vas-y|sim|da|да|конечно|はい|お願いします|是|是的|好|好的|可以|예|네|evet|tak|👍|✅|👌`;
const no = `no|n|nope|nah|no way|no thanks|no thank you|not now|not yet|not at all|absolutely not|of course not|definitely not|
certainly not|better not|rather not|i'd rather not|do not|don't|dont|please don't|do not do it|don't do it|do not do that|
don't do that|never|never mind|nevermind|deny|denied|reject|rejected|refuse|refused|decline|declined|cancel|cancel it|
cancel that|stop|stop it|abort|false|nein|nein danke|lieber nicht|nicht|non|non merci|no gracias|não|nao|нет|いいえ|不|
不要|不用|否|아니요|hayır|nie|👎|❌`;
/** Around a yes or a no they mean nothing. */
const polite = `please|thanks|thank you|thank you very much|thx|bitte|danke|gracias|por favor|merci|s'il te plaît|then|now|
just|so|well|oh|and|that|it|it's|is|i|am|do|bot|kindly`;

type Meaning = 'yes' | 'no' | 'polite';

const meanings = new Map<string, Meaning>();
for (const [meaning, phrases] of [
  ['polite', polite],
  ['yes', yes],
  ['no', no],
] as const) {
  for (const phrase of phrases.split('|')) meanings.set(phrase.trim(), meaning);
}
const longestPhrase = Math.max(...[...meanings.keys()].map((phrase) => phrase.split(' ').length));

/** What a message means where a call waits for a yes or a no. */
export interface Consent {
  readonly meaning: 'yes' | 'no' | 'unclear';
  /** Whether the message says more than that: it is for the model to read. */
  readonly saysMore: boolean;
}

/**
 * Reads "yes please", "go ahead" or "nope". A message that starts with a no and goes on ("no, send it
 * to Bob") is a no; one that starts with a yes and goes on ("yes, but only half") is unclear, and so is
 * any question.
 */
export function readConsent(text: string): Consent {
  const words = text
    .toLowerCase()
    .replaceAll('’', "'")
    .replaceAll(/[\s.,!;:。！、…"()-]+/g, ' ')
    .trim()
    .split(' ');
  const found: Meaning[] = [];
  let at = 0;
  while (at < words.length) {
    const { meaning, length } = phraseAt(words, at);
    if (meaning === undefined) break;
    if (meaning !== 'polite') found.push(meaning);
    at += length;
  }
  const [first] = found;
  const saysMore = at < words.length || found.some((meaning) => meaning !== first);
  if (first === 'no') return { meaning: 'no', saysMore };
  return { meaning: first === 'yes' && !saysMore ? 'yes' : 'unclear', saysMore };
}

/** The longest phrase from a word on. */
function phraseAt(
  words: readonly string[],
  at: number,
): { readonly meaning: Meaning | undefined; readonly length: number } {
  for (let length = Math.min(longestPhrase, words.length - at); length > 0; length -= 1) {
    const meaning = meanings.get(words.slice(at, at + length).join(' '));
    if (meaning !== undefined) return { meaning, length };
  }
  return { meaning: undefined, length: 0 };
}
