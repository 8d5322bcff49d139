import type { Flow } from '../../model.ts';
import type { Candidate } from '../candidate.ts';
import { type Message, messageOf, wordsOf } from '../words/words.ts';
import { withoutOpeners } from './phrases.ts';
import { statementOf } from './statements.ts';

/**
 * How a message refers to a flow. Only `plain` requests it. `how-to` asks how to do it; `question` asks
 * about consequences or costs; `look-up` wants to see existing data; `reported` mentions something done,
 * intended or somebody else's.
 */
export type Mood = 'plain' | 'how-to' | 'question' | 'look-up' | 'reported';

const howTo =
  /^(?:so |and )?(?:how (?:do|can|could|would|should|might|does) (?:i|we|one|you|someone)\b|how to\b|what (?:do|should|must) (?:i|we) (?:do|need|have)\b|where (?:do|can|could) (?:i|we)\b|what(?:'s| is) the (?:best |easiest )?(?:way|process|procedure)\b|is there (?:a|any) way to\b)|\b(?:tell|show|explain)(?: to)?(?: me)? how (?:to|i|do|can|one)\b|\b(?:explain|understand)(?: to me)? how\b|\bhow .{1,30} works?\b|\bhow it works\b/;
const supposing =
  /^(?:so |and |but )?(?:what (?:happens|would happen|will happen|if)\b|what(?:'s| is) (?:going to happen|the (?:point|risk|downside))|suppos|imagine\b|if i\b|should i\b|do (?:i|we) (?:have|need) to\b|would \w+ing\b|is it (?:safe|a good|worth|ok|okay|true|dangerous|necessary|allowed|wise|legal|free|bad|better|smart|risky)\b|am i (?:allowed|liable)\b|why\b|what(?:'s| is| are) an? (?!.*\b(?:my|our)\b)|what does .{1,40} mean\b)/;
/** "Can I send money if I am abroad?", but not "I wonder if I could". */
const condition =
  /(?<!\b(?:wonder|wondering|know|see|ask|asking|check|tell me|sure)) (?:if|when) (?:i|we|my)\b.*\?\s*$/;
/** Asks about something, so a flow that changes it is not wanted. */
const openQuestion =
  /^(?:so |and )?(?:(?:what|which|who)\b(?! about\b)|(?:when|where)\b(?!(?:'s| is| was) my\b| (?:can|could|may) (?:i|we|you)\b| (?:do|are|have|would) you\b))/;
const factQuestion = /^(?:so |and )?(?:how|what|when|is|are|does|do|will|would|which)\b/;
/** Words that questions about a flow ask for: costs, rules, duration. */
const facts =
  /^(?:cost|costs|fee|fees|charge|charges|charged|price|prices|take|takes|expensive|interest|rate|rates|safe|secure|risk|risks|refund|refunded|rule|rules|policy|difference|conditions?|requirements?|works?|long)$/;

const moods = { reported: 'reported', possible: 'question', considered: 'how-to' } as const;

export function moodOf(message: Message, candidate: Candidate): Mood {
  const mood = readMood(message, candidate);
  if (mood === 'plain') {
    if (isReading(candidate.flow) || isAnswering(candidate.flow)) return mood;
    const statement = statementOf(message, candidate);
    if (statement !== undefined) return moods[statement];
    return isLookUp(message, candidate) ? 'look-up' : mood;
  }
  // A flow with an example in the same mood answers such messages.
  const isExample = readMood(messageOf(candidate.phrase, message.language), candidate) === mood;
  return isExample ? 'plain' : mood;
}

function readMood(message: Message, candidate: Candidate): Mood {
  const { folded } = withoutOpeners(message);
  if (supposing.test(folded) || condition.test(folded)) return 'question';
  if (howTo.test(folded)) return 'how-to';
  if (openQuestion.test(folded) && !isReading(candidate.flow) && !candidate.isContained) {
    return 'question';
  }
  if (!factQuestion.test(folded)) return 'plain';
  const said = new Set(candidate.explained.map((one) => one.start));
  const isAboutFacts = wordsOf(message).some(
    (word) => facts.test(word.folded) && !said.has(word.start),
  );
  return isAboutFacts ? 'question' : 'plain';
}

const showing = /^(?:show|list|view|see|display|look)$/;
const showingOnly = /^(?:show|list|view|display)$/;
const overview = /\b(?:overview|summary|breakdown) (?:of|over)\b/;
/** "Which people do I have saved". */
const ownList =
  /^(?:which|who|what)\b.{1,30}\b(?:do i have|have i|i have|i've)\b|^(?:do i have|have i got) any\b/;
/** Refers to existing data: "did you get my booking". */
const aboutOwn =
  /^(?:when|where|what)(?:'s|s| is| was) my(?: \w+){1,2}[.?!\s]*$|^(?:did|has|was|is)\b(?: \w+)* my\b/;

/** Whether the user wants to see something. */
export function asksToShow(message: Message): boolean {
  const first = message.tokens.find((token) => token.isContent)?.folded ?? '';
  return showing.test(first) || overview.test(message.folded) || ownList.test(message.folded);
}

const wish = /\b(?:want|need|like|love|wish|plan|going|have|hope) to (\w+)/;

/** Whether the user wants an action: "I want to buy a house". */
export function wishesToDo({ folded, language }: Message): boolean {
  const verb = language.stem(wish.exec(folded)?.[1] ?? '');
  return language.generic.has(verb) && !language.weak.has(verb);
}

/**
 * "List my bookings" doesn't create one: a flow that changes something is not meant, unless its own
 * phrase says so.
 */
function isLookUp(message: Message, { isContained, phrase }: Candidate): boolean {
  if (isContained) return false;
  const wantsToSee = (text: Message): boolean => {
    const bare = withoutOpeners(text);
    const { folded } = bare;
    const first = wordsOf(bare).find((word) => word.isContent)?.folded ?? '';
    return showingOnly.test(first) || overview.test(folded) || aboutOwn.test(folded);
  };
  return wantsToSee(message) && !wantsToSee(messageOf(phrase, message.language));
}

const negation =
  /^(?:not|don't|dont|doesn't|doesnt|didn't|didnt|isn't|isnt|aren't|wasn't|wasnt|weren't|haven't|havent|hasn't|hasnt|hadn't|won't|wont|wouldn't|shouldn't|never|nobody|none|nothing|without|no|neither|nor)$/;
/** "I never asked you to block it". */
const saying = new Set([
  'ask',
  'dar',
  'tell',
  'say',
  'order',
  'request',
  'agre',
  'allow',
  'instruct',
  'plan',
  'intend',
]);
/** "It does not work", "I do not find it" describe a problem and don't negate the request. */
const failing = new Set([
  'work',
  'find',
  'see',
  'remember',
  'know',
  'function',
  'load',
  'recogniz',
  'have',
]);

/** Whether the message negates the flow: "don't block my card", "I did not lose it". */
export function isNegated(message: Message, candidate: Candidate): boolean {
  const words = wordsOf(message);
  const starts = new Set(candidate.explained.map((one) => one.start));
  return words.some((word, at) => {
    // "No air" is a compound, not a negation.
    if (!negation.test(word.folded) || word.end - word.start > word.folded.length) return false;
    const next = words
      .slice(at + 1, at + 7)
      .find((one) => one.isContent && !(saying.has(one.stem) && !starts.has(one.start)));
    if (next === undefined || failing.has(next.stem) || !starts.has(next.start)) return false;
    // "No fee account": the flow's own phrase has the negation.
    return !candidate.phrase
      .toLowerCase()
      .split(/[\s.,!?]+/)
      .some((one) => negation.test(one));
  });
}

/** Whether a flow only sends responses and collects nothing. */
export function isAnswering(flow: Flow): boolean {
  return [...flow.steps.values()].every(
    (step) =>
      step.kind === 'noop' ||
      (step.kind === 'action' && (isReading(flow) || step.action.startsWith('utter_'))),
  );
}

const reading =
  /^(?:(?:this flow|flow|lets?|allows?|helps?|enables?|the|a|an|you|users?|customers?|to|for|that|can|will) )*(?:shows?|lists?|tells?|views?|displays?|sees?|look(?:s|ing)?|finds?|check(?:s|ing)?(?! ?-?(?:in|out)\b)|get information|explains?|answers?|calculates?|estimates?|quotes?|tracks?|search(?:es)?|compares?|gives? information|provides?|retrieves?|fetch(?:es)?|recommends?|suggests?|informs?)\b/i;

/** Whether a flow only reads data, judging by its description. */
export function isReading(flow: Flow): boolean {
  return reading.test(flow.description.trim());
}
