/** What a phrase means as the answer to a request for confirmation. `unsure` is neither yes nor no. */
type Meaning = 'yes' | 'no' | 'unsure' | 'polite';

/**
 * A `word` can be combined with any other phrase. A `statement` ("that's fine") ends an answer: a word
 * after it makes it a question ("that's fine, right"), but a `request` ("go ahead") can follow.
 */
type Form = 'word' | 'request' | 'statement';

interface Phrase {
  readonly meaning: Meaning;
  readonly form: Form;
}

/**
 * Phrases by their meaning as answers to a request for confirmation. This is deliberately strict: a
 * message is a yes only if every word belongs to one of these phrases. No phrase starts like a
 * question, so "is that right" or "do I" are never a yes.
 */
const yesWords = `yes|yess|y|yeah|yeh|yea|ye|yas|yep|yup|yah|aye|ok|okay|okey|okey dokey|okie dokie|k|kk|sure|sure thing|for sure|
fine|good|great|perfect|cool|awesome|excellent|lovely|right|correct|accurate|exactly|absolutely|definitely|certainly|
indeed|totally|affirmative|agreed|confirmed|approved|accepted|allowed|granted|permission granted|authorized|
authorised|true|of course|all right|alright|all good|very good|very well|good to go|by all means|no problem|
no problem at all|no worries|no objection|no objections|roger|roger that|lgtm|sgtm|wfm|fine by me|fine with me|fine for me|
ok by me|ok with me|ok for me|okay by me|okay with me|okay for me|good for me|good with me|good by me|+1|100%|👍|✅|👌|🆗|💯|
ja|jo|jep|jap|ja gerne|gerne|jawohl|klar|na klar|alles klar|geht klar|genau|richtig|stimmt|stimmt so|passt|passt so|ok so|
natürlich|selbstverständlich|sicher|einverstanden|bestätigt|genehmigt|freigegeben|in ordnung|auf jeden fall|auf alle fälle|
kein problem|si|sí|claro|oui|d'accord|sim|да|конечно|はい|お願いします|是|是的|好|好的|可以|예|네|evet|tak`;
const yesRequests = `go|go ahead|go right ahead|go ahead and do it|go ahead and do that|go ahead with it|go ahead with that|
go ahead then|go for it|carry on|proceed|proceed with it|proceed with that|continue|do it|do that|do this|do so|yes do|
please do|do please|run it|run that|execute it|send it|submit it|ship it|make it so|make it happen|confirm|confirm it|confirm that|
approve|approve it|approve that|accept|accept it|accept that|allow|allow it|allow that|be my guest|
nur zu|mach|mach es|mach das|mach weiter|machen sie das|machen sie es|machen sie weiter|mach mal|tu es|tun sie es|weiter|
weitermachen|bestätigen|bestätige|ausführen|leg los|adelante|vas-y|vas y`;
const yesStatements = `works for me|sure you can|you may|you can|you may do it|you can do it|you may do that|you can do that|
you may go ahead|you can go ahead|you may proceed|you can proceed|you may continue|you can continue|
you have my permission|you have my approval|you have my consent|you have my ok|i do|yes it is|that'll do|
that will do|that works|that works for me|this works|it works for me|sure why not|das passt|passt für mich|das stimmt|
das stimmt so|das ist ok|das ist okay|das ist richtig|das ist korrekt|das ist gut|das ist in ordnung|ist in ordnung|
das geht in ordnung|das geht klar|das kannst du machen|das können sie machen|das darfst du|das dürfen sie|
ich bestätige|ich bestätige das|ich bin einverstanden|ich stimme zu|ich genehmige das`;
const noWords = `no|n|nope|nop|nah|nay|naw|no way|no thanks|no thank you|no go|negative|not now|not yet|not today|not at all|not really|
absolutely not|of course not|definitely not|certainly not|surely not|better not|rather not|please no|please not|hell no|
under no circumstances|on no account|by no means|do not|don't|dont|never|never mind|nevermind|denied|rejected|refused|
declined|false|wrong|incorrect|disapproved|not approved|not allowed|not ok|not okay|not good|not fine|not right|not correct|not true|not|👎|❌|🚫|
nein|nö|nee|ne|nein danke|lieber nicht|besser nicht|bitte nicht|noch nicht|jetzt nicht|auf keinen fall|bloß nicht|bloss nicht|
niemals|falsch|abgelehnt|stimmt nicht|passt nicht|nicht|non|non merci|no gracias|não|nao|нет|いいえ|不|不要|不用|否|아니요|hayır|nie`;
const noRequests = `please don't|please do not|do not do it|don't do it|dont do it|do not do that|don't do that|dont do that|deny|deny it|
deny that|reject|reject it|reject that|refuse|refuse it|decline|decline it|decline that|cancel|cancel it|cancel that|stop|stop it|
stop that|stopp|abort|abort it|abort that|forget it|forget about it|forget that|leave it|leave it alone|skip|skip it|skip that|
do nothing|abbrechen|brich ab|lass es|lass das|lass es sein|mach es nicht|mach das nicht|tu es nicht`;
const noStatements = `i'd rather not|i would rather not|i'd rather you didn't|i'd prefer not|i'd prefer not to|i prefer not to|
i changed my mind|i've changed my mind|das stimmt nicht|das passt nicht|das ist falsch|das ist nicht richtig|das ist nicht ok|
das ist nicht in ordnung|ich möchte das nicht|ich will das nicht|ich möchte nicht|ich will nicht|ich lehne ab|ich stimme nicht zu`;
const unsure = `not sure|not so sure|i'm not sure|im not sure|i am not sure|not certain|unsure|no idea|no clue|no rush|no hurry|not bad|i don't know|
i dont know|i do not know|don't know|dont know|idk|don't stop|do not stop|don't cancel|do not cancel|don't abort|do not abort|
weiß nicht|weiss nicht|ich weiß nicht|ich weiss nicht|weiß ich nicht|keine ahnung|nicht sicher|ich bin nicht sicher`;
/** These mean nothing beside a yes or a no. */
const polite = `please|pls|plz|thanks|thank you|thank you very much|many thanks|thx|ty|cheers|bitte|bitte sehr|danke|danke schön|vielen dank|
gracias|por favor|merci|s'il te plaît|s'il vous plaît|then|now|just|well|oh|ah|hey|bot|kindly|dann|doch|jetzt|mal`;

const phrases = new Map<string, Phrase>();
const add = (list: string, meaning: Meaning, form: Form): void => {
  for (const phrase of list.split('|')) phrases.set(phrase.trim(), { meaning, form });
};
add(polite, 'polite', 'word');
add(unsure, 'unsure', 'word');
add(yesWords, 'yes', 'word');
add(yesRequests, 'yes', 'request');
add(yesStatements, 'yes', 'statement');
add(noWords, 'no', 'word');
add(noRequests, 'no', 'request');
add(noStatements, 'no', 'statement');

const that = '(?:that|this|it|everything)';
const seems = `(?:${that}(?:'s| is| looks| sounds| seems| would be)|thats|its|looks|sounds|seems|all looks)`;
const much = '(?:all|absolutely|totally|perfectly|completely|very|quite|just|so)';
const good = `(?:right|correct|accurate|true|ok|okay|okey|fine|good|great|perfect|cool|no problem|alright|all right|approved|confirmed|allowed|good to go)`;
const forMe = '(?: (?:by|for|to|with) me)?';
const agree =
  '(?:agree|confirm|approve|accept|authorize|authorise|consent|allow it|allow that|think so)';
const what = '(?: (?:it|that|this|to it|to that|to this|with it|with that))?';
const iAm = "(?:i'm|im|i am)";
const not = "(?:is not|isn't|isnt|'s not|does not look|doesn't look|does not sound|doesn't sound)";
const never = "(?:do not|don't|dont|will not|won't|wont|can not|cannot|can't|cant)";
/** Phrases that are composed of parts. */
const patterns: readonly (readonly [RegExp, Phrase])[] = (
  [
    [`${seems}(?: ${much})? ${good}${forMe}`, 'yes'],
    [`i (?:do )?(?:fully |totally |absolutely )?${agree}${what}`, 'yes'],
    [`${iAm} (?:ok|okay|fine|good|happy|cool) with (?:it|that|this)`, 'yes'],
    [`${iAm} (?:very |quite |absolutely |pretty )?(?:sure|certain|positive)`, 'yes'],
    [`i give (?:my|you my) (?:consent|permission|approval|ok)`, 'yes'],
    [`${that} ?${not} (?:${much} )?${good}${forMe}`, 'no'],
    [`thats not (?:${much} )?${good}${forMe}`, 'no'],
    [`${that}(?:'s| is| looks| sounds| seems) (?:${much} )?(?:wrong|incorrect|bad|false)`, 'no'],
    [`i ${never} (?:${agree}|want)${what}`, 'no'],
    [`i (?:disagree|decline|refuse|object|disapprove|deny|reject)${what}`, 'no'],
    [`${iAm} not (?:ok|okay|fine|good|happy|cool) with (?:it|that|this)`, 'no'],
  ] as const
).map(([source, meaning]) => [new RegExp(`^(?:${source})$`), { meaning, form: 'statement' }]);

/** The only inverted questions whose first word is a phrase. */
const inverted = /^(?:do|don't|dont) (?:i|you|we|they|he|she)\b/;
const longestPhrase = 8;
/** Maximum characters of a plain yes or no. */
const maxLength = 200;

/** What a message means as the answer to a request for confirmation. */
export interface Consent {
  readonly meaning: 'yes' | 'no' | 'unclear';
  /** Whether the message contains more, which is passed to the model. */
  readonly saysMore: boolean;
}

/**
 * Reads "yes please", "go ahead", "that's correct" or "nope". A message that starts with a no and continues
 * ("no, send it to Bob") is a no; one that starts with a yes and continues ("yes, but only half") is
 * unclear, and so is a question ("is that right", "yes?"), with or without its mark.
 */
export function readConsent(text: string): Consent {
  const clauses = clausesOf(text.slice(0, maxLength + 1));
  const found: Phrase[] = [];
  let isUnderstood = text.length <= maxLength;
  for (const clause of clauses) {
    isUnderstood &&= readClause(clause, found);
    if (!isUnderstood) break;
  }
  const [first] = found;
  if (first?.meaning === 'no') {
    const hasYes = found.some(({ meaning }) => meaning !== 'no');
    // "No, that's fine" can mean either.
    return { meaning: isUnderstood && hasYes ? 'unclear' : 'no', saysMore: !isUnderstood };
  }
  const isYes = found.length > 0 && found.every(({ meaning }) => meaning === 'yes');
  const isAsking = clauses.length > 1 && asksBack(found);
  const isPlain = isUnderstood && isYes && !isAsking;
  return { meaning: isPlain ? 'yes' : 'unclear', saysMore: !isPlain };
}

/** The words of each clause. A question mark is a word that belongs to no phrase. */
function clausesOf(text: string): readonly (readonly string[])[] {
  return text
    .toLowerCase()
    .replaceAll('’', "'")
    .replaceAll(/(\p{L})\1{2,}/gu, '$1')
    .replaceAll(/[?？¿]/g, ' ? ')
    .split(/[.,!;:。！、，…\n]+/)
    .map((clause) => clause.split(/[\s"“”„()*_]+|-+(?=\s|$)|(?<=\s|^)-+/).filter(Boolean))
    .filter((words) => words.length > 0);
}

/** Adds the phrases of a clause. Returns false if the clause contains anything else, or is a question. */
function readClause(words: readonly string[], found: Phrase[]): boolean {
  // A question negates the answer in its clause: neither "no?" nor "don't I" is a no.
  if (words.includes('?') || inverted.test(words.join(' '))) return false;
  let last: Phrase | undefined;
  let at = 0;
  while (at < words.length) {
    const next = phraseAt(words, at);
    if (next === undefined) return false;
    at += next.length;
    const { phrase } = next;
    if (phrase.meaning === 'polite') continue;
    if (last?.form === 'statement' && phrase.form !== 'request') return false;
    found.push(phrase);
    last = phrase;
  }
  return true;
}

/** In "That's correct, right", the word after the statement makes it a question. */
function asksBack(found: readonly Phrase[]): boolean {
  const [before, last] = found.slice(-2);
  return before?.form === 'statement' && last?.form === 'word';
}

/** The longest phrase that starts at a word. */
function phraseAt(
  words: readonly string[],
  at: number,
): { readonly phrase: Phrase; readonly length: number } | undefined {
  for (let length = Math.min(longestPhrase, words.length - at); length > 0; length -= 1) {
    const text = words.slice(at, at + length).join(' ');
    const phrase = phrases.get(text) ?? patterns.find(([pattern]) => pattern.test(text))?.[1];
    if (phrase !== undefined) return { phrase, length };
  }
  return undefined;
}
