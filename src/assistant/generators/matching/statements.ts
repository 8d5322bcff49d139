import type { Candidate, Explained } from '../candidate.ts';
import { type Message, messageOf } from '../words/words.ts';
import { opensAsRequest, withoutOpeners } from './phrases.ts';

/**
 * Messages that mention a flow without requesting it: `reported` for something done, intended or somebody
 * else's ("I paid Bob last week", "has Anna been paid?"), `possible` for something that can happen ("can
 * it be stolen?"), `considered` for something that may be wanted later ("before I block it").
 */
export type Statement = 'reported' | 'possible' | 'considered';

const intended =
  /^(?:i|we) (?:was|were) (?:going|about|supposed|planning) to\b|^(?:i|we|you) had to\b|\bnot (?:right now|now|yet|today)[.!\s]*$|^(?:i|we)(?:'ll| will)\b.*\b(?:later|another time|some ?day|one day)[.!\s]*$/;
const done =
  /^(?:i|we|you|he|she|they)(?:'ve| have|'d| had)?(?: (?:just|already|recently))* (?:made|did|done|placed)\b|^(?:i|we|you|he|she|they|my \w+)(?:'ve)?(?: have| has)? already (?:have|has|had|got|own)\b/;
/** "Have you sent it?", but not "have my card blocked" or "have you got a table?". */
const pastQuestion =
  /^(?:and |so |but )?(?:(?:did(?! you have\b)|has|were)\b|had (?:i|we|you|he|she|they|my|the)\b|does (?:every|any)(?:one|body)\b|(?:is|are) (?:my|the|our) .*\b(?:done|through|finished|completed?|pending|late)\b|was (?!wondering|hoping|thinking|looking|planning)|have (?:you|i|we|they|he|she)\b(?! (?:got|any|a|an|to|space|room)\b))/;
const possibility =
  /^(?:and |so |but )?(?:can|could|may|might|would|will) (?:(?:my|our|his|her|their|the|it|this|that) (?!\w+ and (?:i|me)\b).{0,40}\b(?:be|become|been|get(?! (?:an?|the|some|one|us|in)\b))\b|(?:he|she|they) )(?!.*\bplease\b)/;
/** "Can someone block it" can be a request; "can someone steal it" is not. */
const anybody =
  /^(?:can|could|may|might|would|will) (?:some|any)(?:one|body)\b|^(?:can|could) people\b/;
/** "I want to know if my card is blocked", but not "I wonder if you could block it". */
const embedded =
  /\b(?:check|know|tell me|see|find out|wonder|wondering|verify|sure|remember) (?:if|whether|when|why|who)\b(?! (?:you|u|i|we|it|there)\b)/;
/** "Thanks for blocking it", "I regret blocking it". */
const judgedAct =
  /^(?:thanks|thank you|thx|sorry)?,? ?for \w+ing\b|\b(?:regret|hate|enjoy|remember|afraid of|worried about) \w+ing\b/;
const advice =
  /^(?:and |so |but )?(?:would it\b(?! be possible)|is it possible that\b|(?:would|do|can) you (?:recommend|advise|suggest)\b)/;
const undecided =
  /\b(?:i|we) (?:might|may) (?:want|need|wish|like|have to)\b|\bthinking (?:about|of) \w+ing\b/;
const others =
  /^(?:(?:my|our|a|his|her|their) (?:\w+ ){1,2}|he |she |they )(?:wants?|wishes|would like|is trying|tries|plans|is planning|is going|needs) to (?!be\b|get\b)|^(?:my|our) \w+ (?:is asking|asks|asked) (?:how|if|whether)\b|^(?:people|every(?:one|body)) \w|^(?:(?:my|our) \w+|he|she|they)(?: will| has| have| just)? \w+ (?:me|us)\b|^(?:(?:my|our|a) \w+|he|she|they)(?: has| just| had)* \w+ (?:his|her|their)\b/;
/** "Before I freeze my card, what happens?": the clause before the comma is not a request. */
const subordinate =
  /^(?:in case|before|after|once|unless|until|whenever|when|as long as|if) (?:i|we|my|our|some(?:one|body))\b/;
const wanting = /\b(?:want|need|like|wish|please|can you|could you)\b/;
/** "I want my card blocked", "get it blocked", "it should be blocked": a wish, though the verb is in the past. */
const wishBefore =
  /\b(?:want|wants|wanted|need|needs|like|get|having|prefer|(?:has|have|ought) to be|should be|must be|please)\b|^have\b|^(?:can|could|would|may) (?:an?|some|one)\b|\bhave (?:my|the|our|it)\b/;

/**
 * How a message mentions a flow; undefined if it requests the flow, or if the flow has an example with
 * the same wording.
 */
export function statementOf(message: Message, candidate: Candidate): Statement | undefined {
  const bare = withoutOpeners(message);
  const statement = wordingOf(bare, candidate) ?? pastOf(message, candidate);
  if (statement === undefined) return undefined;
  const example = messageOf(candidate.phrase, message.language);
  return wordingOf(example, candidate) === statement ? undefined : statement;
}

function wordingOf(bare: Message, { explained }: Candidate): Statement | undefined {
  const { folded, language } = bare;
  if (undecided.test(folded)) return 'considered';
  if (possibility.test(folded) || advice.test(folded) || mayHappen(bare)) return 'possible';
  if (anybody.test(folded) && explained.some(({ stem }) => language.happenings.has(stem))) {
    return 'possible';
  }
  if (subordinate.test(folded)) {
    const [clause = ''] = folded.split(',', 1);
    const isInClause = explained.some(({ word }) => clause.includes(word));
    return isInClause && !wanting.test(clause) ? 'considered' : undefined;
  }
  if ([intended, others, embedded, judgedAct].some((one) => one.test(folded))) return 'reported';
  const isTold = done.test(folded) || pastQuestion.test(folded);
  return isTold && !opensAsRequest(bare) ? 'reported' : undefined;
}

/** "Can I lose my card?" */
function mayHappen({ folded, language }: Message): boolean {
  const verb = /^(?:can|could|might|may|will) (?:i|we) (\w+)/.exec(folded)?.[1] ?? '';
  return language.happenings.has(language.stem(verb));
}

/**
 * "I paid Bob": the first of the flow's verbs in the message is in the past. Verbs of happenings don't
 * count: "I lost it".
 */
function pastOf(message: Message, { explained, phrase }: Candidate): Statement | undefined {
  const { folded, tokens, language } = message;
  const { generic, happenings, determiners, past } = language;
  const isPast = ({ word }: Explained): boolean =>
    past.has(word) || (word.endsWith('ed') && language.stem(word) !== word);
  const verb = explained.find((one) => isPast(one) || generic.has(language.stem(one.word)));
  if (verb === undefined || !isPast(verb)) return undefined;
  const at = tokens.findIndex(({ start }) => start === verb.start);
  const isState = happenings.has(language.stem(verb.word)) || happenings.has(verb.stem);
  // "My saved contacts".
  const isAdjective = determiners.has(tokens[at - 1]?.folded ?? '');
  const isWish = opensAsRequest(message) || wishBefore.test(folded.slice(0, verb.start));
  const isSaidSo = phrase
    .toLowerCase()
    .split(/[\s.,!?]+/)
    .includes(verb.word);
  return isState || isAdjective || isWish || isSaidSo ? undefined : 'reported';
}
