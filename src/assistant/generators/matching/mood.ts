import type { Flow } from '../../model.ts';
import type { Candidate } from '../flow-index.ts';
import { type Message, messageOf, wordsOf } from '../words/words.ts';
import { withoutOpeners } from './phrases.ts';

/**
 * How a message speaks of what it names. Only a plain one asks for it; `how-to` wants to know how it is
 * done, `question` what would come of it or what it costs.
 */
export type Mood = 'plain' | 'how-to' | 'question';

const howTo =
  /^(?:so |and )?(?:how (?:do|can|could|would|should|might|does) (?:i|we|one|you|someone)\b|how to\b|what (?:do|should|must) (?:i|we) (?:do|need|have)\b|where (?:do|can|could) (?:i|we)\b|what(?:'s| is) the (?:best |easiest )?(?:way|process|procedure)\b|is there (?:a|any) way to\b)|\b(?:tell|show|explain)(?: to)?(?: me)? how (?:to|i|do|can|one)\b|\bhow it works\b/;
const supposing =
  /^(?:so |and |but )?(?:what (?:happens|would happen|will happen|if)\b|what(?:'s| is) (?:going to happen|the (?:point|risk|downside))|suppos|imagine\b|if i\b|should i\b|do (?:i|we) (?:have|need) to\b|would \w+ing\b|is it (?:safe|a good|worth|ok|okay|true|dangerous|necessary|allowed|wise|legal|free|bad|better|smart|risky)\b|am i (?:allowed|liable)\b|why\b|what(?:'s| is| are) an? (?!.*\b(?:my|our)\b)|what does .{1,40} mean\b)/;
/** "Can I send money if I am abroad?", but not "I wonder if I could". */
const condition =
  /(?<!\b(?:wonder|wondering|know|see|ask|asking|check|tell me|sure)) (?:if|when) (?:i|we|my)\b.*\?\s*$/;
const factQuestion = /^(?:so |and )?(?:how|what|when|is|are|does|do|will|would|which)\b/;
/** What questions about a thing are about, where the flow is not. */
const facts =
  /^(?:cost|costs|fee|fees|charge|charges|charged|price|prices|take|takes|expensive|interest|rate|rates|safe|secure|risk|risks|refund|refunded|rule|rules|policy|difference|conditions?|requirements?|works?|long)$/;

export function moodOf(message: Message, candidate: Candidate): Mood {
  const mood = readMood(message, candidate);
  if (mood === 'plain') return mood;
  // An example that asks the same way is there for such questions.
  const isExample = readMood(messageOf(candidate.phrase, message.language), candidate) === mood;
  return isExample ? 'plain' : mood;
}

function readMood(message: Message, candidate: Candidate): Mood {
  const { folded } = withoutOpeners(message);
  if (supposing.test(folded) || condition.test(folded)) return 'question';
  if (howTo.test(folded)) return 'how-to';
  if (!factQuestion.test(folded)) return 'plain';
  const said = new Set(candidate.explained.map((one) => one.start));
  const isAboutFacts = message.tokens.some(
    (token) => facts.test(token.folded) && !said.has(token.start),
  );
  return isAboutFacts ? 'question' : 'plain';
}

const negation =
  /^(?:not|don't|dont|doesn't|doesnt|didn't|didnt|isn't|isnt|aren't|wasn't|wasnt|never|without|no)$/;
/** "It does not work", "I do not find it" say what is wrong; they take nothing back. */
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

/** Whether the message says that it is not so: "don't block my card", "I did not lose it". */
export function isNegated(message: Message, candidate: Candidate): boolean {
  const words = wordsOf(message);
  const starts = new Set(candidate.explained.map((one) => one.start));
  return words.some((word, at) => {
    if (!negation.test(word.folded)) return false;
    const next = words.slice(at + 1, at + 6).find((one) => one.isContent);
    if (next === undefined || failing.has(next.stem) || !starts.has(next.start)) return false;
    // "No fee account": the flow itself says no.
    return !candidate.phrase
      .toLowerCase()
      .split(/[\s.,!?]+/)
      .some((one) => negation.test(one));
  });
}

/** Whether a flow only answers: it says something and asks for nothing. */
export function isAnswering(flow: Flow): boolean {
  return [...flow.steps.values()].every(
    (step) =>
      step.kind === 'noop' ||
      (step.kind === 'action' && (isReading(flow) || step.action.startsWith('utter_'))),
  );
}

const reading =
  /^(?:show|list|tell|view|display|see|look|find out|check|get information|explain|answer|calculate|estimate|quote|track|search|compare|give information|inform)\b/i;

/** Whether a flow looks something up and changes nothing, as far as its description says. */
export function isReading(flow: Flow): boolean {
  return reading.test(flow.description.trim());
}
