import { withoutClosing, withoutOpening } from '../../small-talk/small-talk.ts';
import { type Message, messageOf } from '../words/words.ts';
import { introducedIn } from './names.ts';

/**
 * Fixed phrases that steer a conversation, independent of its topic. All patterns run on folded text in
 * linear time; each must match a whole message or its start.
 */

const it = '(?:it|that|this|everything|all(?: of (?:it|this|that))?)';
const cancelPhrases = [
  `never ?mind(?: ${it}| about ${it})?`,
  `forget (?:about )?(?:${it}|the whole thing)`,
  `(?:please |just |(?:can|could) (?:you|we) (?:please )?|let'?s |i (?:want|need|would like|wish) to |i'd like to )?(?:stop|cancel|abort|quit|exit|scrap|drop|terminate|discontinue|undo)(?: (?:${it}|here|now|right now|there|please|the (?:process|flow|request|operation|whole thing|conversation|procedure)|(?:doing|asking)(?: ${it}| me)?))*`,
  `(?:i(?:'ve| have)? |we(?:'ve| have)? )?changed (?:my|our) minds?`,
  `(?:i(?:'m| am)? |we(?:'re| are)? )?(?:not|no longer) interested(?: any ?more| any longer)?`,
  `(?:i|we) (?:don'?t|do not|no longer) (?:want|wish|need|like)(?: to)?(?: (?:do|continue|go on|proceed|have))?(?: ${it}| with ${it}| one| them| any)?(?: (?:any ?more|any longer|now|after all))?`,
  `(?:it(?:'s| is) |that(?:'s| is) )?(?:no longer|not) (?:needed|necessary|required)(?: any ?more)?`,
  `(?:i|we) (?:won'?t|will not|can'?t|cannot) (?:come|be coming|make it|be there)(?: any ?more| after all)?`,
  `let'?s (?:not|forget ${it}|leave ${it}|drop ${it})(?: (?:do )?${it})?`,
  `(?:leave|call) ${it}(?: off| alone)?`,
].join('|');
const cancel = new RegExp(
  `^(?:${cancelPhrases})(?=$|[\\s]*[,.;:!?-]|\\s+(?:and|but|instead|then|please|now|thanks|for now|i|i'm|i'll|we|we'll|you|let'?s)\\b)`,
);
/** "I don't want to send money", "we no longer need a table", "don't book anything". */
const unwantedThing =
  /^(?:(?:i|we) (?:(?:don'?t|do not|no longer) (?:really )?(?:want|wish|need|feel like)|(?:won'?t|will not) (?:need|be needing))(?: to)?|(?:please )?(?:don'?t|do not))\s+/;
const clauseEnd = /[,.;:!?]+\s+|\s+-\s+|\s+(?:and|but|so|because)\s+/g;
/** Maximum number of clauses that are checked for a cancelling phrase. */
const mostClauses = 6;
const stillWanted = /\s*\b(?:any ?more|any longer|after all|now|today)[.!?\s]*$/;
const cancelVerb =
  /^(?:please |just |(?:can|could) (?:you|we) (?:please )?|i (?:want|need|would like) to |i'd like to )?(?:cancel|stop|abort|quit|end)\s+(?:the |this |that |my |with the )?/;

const whole = (...alternatives: readonly string[]): RegExp =>
  new RegExp(`^(?:${alternatives.join('|')})$`);

const repeat = whole(
  '(?:(?:can|could|would) you )?(?:please )?repeat(?: (?:that|it|this|again|please|yourself|the (?:question|last (?:message|part|one))|what you (?:just )?said))*',
  '(?:(?:can|could|would) you )?(?:please )?say (?:that|it)(?: (?:again|once more|one more time))?',
  'come again',
  'pardon(?: me)?',
  'what (?:did you|were you) (?:just )?(?:say|ask|saying|asking)(?: again)?',
  "what(?: was|'s|s| is) (?:that|the question|your question)(?: again)?",
  "i (?:did ?n'?t|did not|couldn'?t) (?:quite )?(?:catch|get|hear|understand)(?: (?:that|you|it|what you said))?",
  '(?:once more|one more time|again)',
  '(?:what|huh|sorry what|say again)',
);

const restart = whole(
  "(?:(?:can|could) (?:we|you|i) |i (?:want|would like|need) to |i'd like to |let'?s )?(?:restart|start (?:all )?over(?: again)?|start again|begin again|start from (?:scratch|the (?:beginning|start|top))|reset)(?: (?:everything|all|the (?:conversation|chat|whole thing)))?(?: from (?:scratch|the beginning))?",
);

const skip = whole(
  "(?:(?:can|could) (?:we|you|i) |i(?:'d| would) like to |i want to |let'?s )?skip(?: (?:it|this|that|the|one|question|step|part))*",
  'next(?: question| one| step)?',
  'pass',
  "(?:i(?:'d| would)? )?(?:rather|prefer) not(?: to)?(?: (?:say|answer|tell|share)(?: (?:that|it|this|you))?)?",
  'no (?:answer|comment)',
  'leave (?:it|that|this) (?:blank|empty|out)',
  "(?:let'?s )?move on",
);

const staff =
  '(?:human(?: being)?|person|agent|representative|rep|operator|employee|(?:member of )?staff|manager|supervisor|boss|owner|clerk|receptionist|mechanic|technician|waiter|waitress|chef|customer (?:service|support|care))';
const person = `(?:(?:real |live |actual |human |other )*(?:${staff}|advisor|adviser|assistant|expert|colleague)|(?:someone|somebody)(?: real| human)?|support|team)`;
const machine = '(?:bots?|robots?|machines?|computers?|chatbots?|ai)';
const handoff = new RegExp(
  [
    `\\b(?:talk|speak|chat|connect|transfer|put|get|pass|hand|switch|escalate)(?: me)?(?: over| through)? (?:to|with|onto|into)(?: (?:a|an|the|your|some|one of your))? ${person}\\b`,
    `^(?:i (?:want|need|prefer)(?: to)? |give me |get me |call me |let me (?:talk|speak) to |connect me to )?(?:a |an |the |your )?(?:real |live |actual |human )*${staff}(?: now)?$`,
    `^(?:is|are) there (?:a|an|any|some) (?:real |live |actual |human )*${staff}\\b(?! (?:here|there|answering|typing|behind|reading)\\b)`,
    `^(?:can|could|will|would|may) (?:a|an|some|any) (?:real |live |actual |human )*${staff} `,
    `\\b(?:don'?t|do not|didn'?t|no longer) (?:want|like|wish)(?: to)? (?:(?:talk|speak|chat|write) (?:to|with) )?(?:a |an |this |the |any |your )?(?:stupid |dumb )?${machine}\\b`,
  ].join('|'),
);

/** The message without greetings and politeness at both ends. */
export function bareText(message: Message): string {
  return withoutClosing(withoutOpening(message.folded)).trim();
}

/** Removes greetings, politeness and introductions at the start; keeps the rest as typed. */
export function withoutOpeners(message: Message): Message {
  const greeting = message.text.length - withoutOpening(message.folded).length;
  const opening = introducedIn(message)?.end ?? greeting;
  // In "no need to", "no" is not an answer.
  const isDenial = /\bno (?:need|one|longer)\b/.test(message.folded.slice(0, opening + 6));
  return opening === 0 || isDenial
    ? message
    : messageOf(message.text.slice(opening), message.language);
}

/**
 * The rest of a message after the clause that cancels: "actually I am busy, cancel it, show my balance".
 * Empty if nothing follows; undefined if no clause cancels.
 */
export function afterCancel(message: Message): Message | undefined {
  const ends = message.folded.matchAll(clauseEnd).take(mostClauses);
  const starts = [0, ...ends.map((end) => end.index + end[0].length)];
  const start = starts.findLast((at) => cancelEnd(message, at) !== undefined);
  const end = start === undefined ? undefined : cancelEnd(message, start);
  if (end === undefined) return undefined;
  const rest = message.text
    .slice(end)
    .replace(/^(?:[\s,.;:!?-]+|(?:and|but|instead|then|please|now|rather)\b)+/i, '');
  return messageOf(withoutClosing(rest), message.language);
}

/** The end of the cancelling phrase that starts at a position in the message; undefined if none does. */
function cancelEnd({ folded }: Message, at: number): number | undefined {
  const clause = folded.slice(at);
  for (const text of [clause, withoutOpening(clause)]) {
    const match = cancel.exec(text);
    if (match !== null) return folded.length - text.length + match[0].length;
  }
  return undefined;
}

/** The first clauses of a message, up to `mostClauses`. */
export function clausesOf(message: Message): readonly Message[] {
  return message.text
    .split(new RegExp(clauseEnd, 'gi'), mostClauses)
    .map((clause) => messageOf(clause, message.language))
    .filter((clause) => clause.tokens.length > 0);
}

/** The named object of a cancellation: "cancel the transfer". */
export function cancelledThing(message: Message): Message | undefined {
  const text = bareText(message);
  const match = cancelVerb.exec(text) ?? unwantedThing.exec(text);
  return match === null
    ? undefined
    : messageOf(text.slice(match[0].length).replace(stillWanted, ''), message.language);
}

type Steering = 'repeat' | 'restart' | 'skip' | 'handoff';

const steerings: readonly (readonly [Steering, RegExp])[] = [
  ['repeat', repeat],
  ['restart', restart],
  ['skip', skip],
  ['handoff', handoff],
];

/** The fixed phrase that the whole message consists of, if any. */
export function steeringOf(message: Message): Steering | undefined {
  if (/^(?:sorry|excuse me|huh|what)\?+$/.test(message.folded)) return 'repeat';
  const plain = message.folded.replaceAll(/[.!?,]+(?=\s|$)/g, '').trim();
  const bare = bareText(message)
    .replaceAll(/[.!?,]+(?=\s|$)/g, '')
    .trim();
  for (const text of [bare, plain]) {
    if (text === '') continue;
    const steering = steerings.find(([, pattern]) => pattern.test(text));
    if (steering !== undefined) return steering[0];
  }
  return undefined;
}

const openQuestion =
  /^(?:what(?:'s|s|'re)?|how|why|when|where|who(?:'s|se)?|which|tell me (?:more )?about|explain|i(?:'d| would) like to know|i want to know|i have a question|do you know|is it (?:true|possible|safe)|is there|are there|what if)\b/;
const closedQuestion =
  /^(?:is|are|was|do|does|did|can|could|will|would|should|may|am|has|have)\b.*\?\s*$/;

const practicalQuestion = /^how (?:do|can|could|would|should|might|to)\b/;
const stateQuestion = /^(?:is|are|was|were|do|does|did|am|has|have)\b.*\?\s*$/;

/** Minimum coverage for "how do I ...", which is nearly a request. */
export const practicalCoverage = 0.4;

/**
 * The share of a flow's phrase that a message must contain to start the flow: none for requests, some for
 * "how do I send money", more for other questions.
 */
export function leastCoverage(message: Message): number {
  const { folded } = withoutOpeners(message);
  if (practicalQuestion.test(folded)) return practicalCoverage;
  return openQuestion.test(folded) || stateQuestion.test(folded) ? 0.45 : 0;
}

const unsure =
  /^(?:i (?:do ?n'?t|do not|have no) (?:know|idea|remember|care)(?: (?:yet|that|it|really))?|(?:no|not any) (?:idea|clue)|not sure(?: yet)?|i(?:'m| am) not sure(?: yet)?|dunno|idk|hm+|um+|whatever|maybe|perhaps|it depends|depends|either|(?:hm+|um+)[\s,.]*(?:not sure|maybe)|don'?t know|no idea|hard to say)$/;

/** Whether the user has no answer: "no idea". */
export function isUnsure(message: Message): boolean {
  return unsure.test(bareText(message)) || unsure.test(message.folded.replace(/[.!?\s]+$/, ''));
}

/**
 * Whether a message is an open question: "what is ...", "why ..."; not a request in the form of a
 * question.
 */
export function isOpenQuestion(message: Message): boolean {
  return openQuestion.test(withoutOpeners(message).folded);
}

/** Whether a message is a question, "is it safe?" included. */
export function isQuestion(message: Message): boolean {
  return isOpenQuestion(message) || closedQuestion.test(withoutOpeners(message).folded);
}

const requestLead =
  /^(?:please\b|(?:i|we)(?:'d| would)(?: really| much)? (?:like|love|rather|prefer)|(?:i|we)(?: just| really| only)? (?:want|need|wish|have to)\b|(?:can|could|would|will) (?:you|i|we)\b|show\b|let'?s\b|let me\b|help me\b|give me\b|tell me\b|is it possible to\b|(?:i(?:'m| am)|we(?:'re| are)) (?:looking|after|trying)\b|do you have\b|have you got\b)/;

/** Whether a message starts like a request. */
export function opensAsRequest(message: Message): boolean {
  return requestLead.test(message.folded) || requestLead.test(withoutOpeners(message).folded);
}
