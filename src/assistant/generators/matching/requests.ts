import type { Flow } from '../../model.ts';
import type { Candidate } from '../candidate.ts';
import type { FlowIndex, WithoutPhrase } from '../flow-index.ts';
import { type Message, messageOf, type Span } from '../words/words.ts';
import { asksToShow, isAnswering, isNegated, isReading, moodOf, wishesToDo } from './mood.ts';
import { leastCoverage, opensAsRequest, practicalCoverage } from './phrases.ts';
import { byValuesAlone } from './requests-by-values.ts';
import type { SlotProfile } from './slot-profile.ts';

/** What a message asks to start. */
export type Requested =
  | { readonly kind: 'start'; readonly requests: readonly Request[] }
  /** Several flows come close to each other. */
  | { readonly kind: 'unclear'; readonly flows: readonly Flow[] }
  /** A flow whose guard does not hold. */
  | { readonly kind: 'guarded'; readonly flow: Flow }
  /** How something is done that a flow does. */
  | { readonly kind: 'offer'; readonly flow: Flow }
  /** What would come of it, or what it costs: the flow is meant and not wanted. */
  | { readonly kind: 'question'; readonly flow: Flow }
  | { readonly kind: 'nothing' };

export interface Request {
  readonly flow: Flow;
  /** The part of the message that asks for it. */
  readonly part: Message;
  readonly candidate: Candidate;
  /** The rest of the message is about something else, and so are its values. */
  readonly isApart?: boolean;
}

export interface RequestOptions {
  readonly index: FlowIndex;
  /** Flows that may be started. */
  readonly isStartable: (flow: Flow) => boolean;
  /** The slots of a flow that the message fills. */
  readonly fillsOf: (flow: Flow, message: Message) => readonly SlotProfile[];
  /** An example that does not count. */
  readonly without?: WithoutPhrase;
  /** Values of the message, which say nothing about the flow. */
  readonly ignored?: readonly Span[];
}

/** Below this share of explained words a flow is not meant. */
export const leastConfidence = 0.55;
/** The same for a flow that has what the message is about. */
const leastTopical = 0.5;
/** A flow whose score is nearer to the best one than this is as likely. */
export const closeness = 0.8;
/** The same for a message of one word: "money" may mean any flow that says it. */
const closenessOfWord = 0.5;
const mostOptions = 3;
const mostRequests = 3;
/** Separators looked at: nobody asks for more in one message. */
const mostParts = 12;
/** Flows whose slots are tried on a message. */
const mostCompared = 4;
/** What a filled slot adds to a score. */
const fillValue = 0.25;
/** Least confidence of a flow that the message has two values for. */
const leastFilled = 0.45;
/** Least confidence of what is asked to be shown. */
const shownConfidence = 0.6;

const strongSeparator =
  /[.!?;]+\s+|[\s,]+oh,? (?:and|also)\b[\s,]*|[\s,]+(?:and )?(?:then|also|afterwards?|after that|secondly|on top of that|additionally|but(?: rather)?)\b[\s,]*|\s+plus\s+/gi;
const weakSeparator = /\s*,(?!\d{3}\b)\s*(?:and\s+)?|\s+(?:and|&)\s+/gi;

/** Finds what a message asks to start: one flow, several in one sentence, or a choice between some. */
export function findRequests(message: Message, options: RequestOptions): Requested {
  if (unwanted.test(message.folded) || contrasted.test(message.folded)) {
    return wantedInstead(message, options);
  }
  const parts = splitAt(message, strongSeparator);
  if (parts.length > 1) {
    const requests = distinct(
      parts.flatMap((part) => splitWeakly(part, options) ?? clearRequest(part, options)),
    );
    if (requests.length > 1) return { kind: 'start', requests: requests.slice(0, mostRequests) };
    const only = requests[0];
    if (only !== undefined) return { kind: 'start', requests: [only] };
  } else {
    const apart = splitAll(message, options) ?? splitWeakly(message, options);
    if (apart !== undefined) return { kind: 'start', requests: apart };
  }
  const judged = judge(message, options, options.ignored ?? []);
  if (judged.kind !== 'nothing') return judged;
  const part = requestingPart(message, options);
  if (part.kind !== 'nothing') return part;
  const filled = byValuesAlone(message, options);
  if (filled === undefined) return part;
  const candidate = { ...unmatched, flow: filled };
  return { kind: 'start', requests: [{ flow: filled, part: message, candidate }] };
}

/** "I don't want to send money", "stop blocking my card" ask for nothing. */
const unwanted =
  /\b(?:do ?n'?t|do not|never|no longer) (?:want|wish|need|like|have)\b|\bno need (?:to|for)\b|\b(?:instead of|rather than|stop|quit|without) \w+ing\b/;
/** "Not the balance, the statement". */
const contrasted = /^(?:no[\s,]+)?not (?:the|my|an?|that|this)\b/;
const clauseEnd = /\s*[,.;!?]+\s+|\s+(?:but|so)\s+|\s+(?=(?:instead of|rather than) \w+ing\b)/gi;

/** "I don't want to freeze it, I just need a new card": the request beside the refused one. */
function wantedInstead(message: Message, options: RequestOptions): Requested {
  const clauses = splitAt(message, clauseEnd);
  const isDenied = ({ folded }: Message): boolean =>
    unwanted.test(folded) || contrasted.test(folded);
  const wanted = clauses.filter((clause) => !isDenied(clause));
  const denied = clauses.find(isDenied);
  const [first] = wanted;
  if (first === undefined || denied === undefined) return { kind: 'nothing' };
  const [about] = options.index.rank(denied);
  const text = wanted.map((clause) => clause.text).join(', ');
  const rest = messageOf(text, message.language);
  const { generic, weak } = message.language;
  const isAsking = wanted.some((clause) => {
    const verb = clause.tokens[0]?.stem ?? '';
    return opensAsRequest(clause) || generic.has(verb) || weak.has(verb);
  });
  if (contrasted.test(denied.folded)) return findRequests(rest, options);
  if (!isAsking) return { kind: 'nothing' };
  return findRequests(about === undefined ? rest : withTopic(rest, about), options);
}

/** Of a flow that no word of the message speaks of. */
const unmatched: Omit<Candidate, 'flow'> = {
  score: 0,
  confidence: leastConfidence,
  phraseCoverage: 0,
  matched: 0,
  isExact: false,
  isContained: false,
  isTopical: false,
  phrase: '',
  explained: [],
  unexplained: [],
};

function judge(message: Message, options: RequestOptions, ignored: readonly Span[]): Requested {
  const coverage = leastCoverage(message);
  const meant = byValues(message, options, coverage, ranked(message, options, ignored));
  const best = meant[0];
  if (best === undefined || isNegated(message, best)) return { kind: 'nothing' };
  const mood = moodOf(message, best);
  if (mood === 'question') return { kind: 'question', flow: best.flow };
  if (mood !== 'plain' && !(mood === 'how-to' && isAnswering(best.flow))) {
    return { kind: options.isStartable(best.flow) ? 'offer' : 'guarded', flow: best.flow };
  }
  const isWord = message.tokens.length === 1;
  const near = isWord ? closenessOfWord : closeness;
  // "Money" is all that counts of "how much money do I have", and less than that.
  const isSame = (one: Candidate): boolean =>
    one.isExact === best.isExact || (isWord && best.phrase.includes(' '));
  const close = meant.filter(
    (one) =>
      isSame(one) && one.score >= best.score * near && one.confidence >= best.confidence - 0.25,
  );
  // What is meant but not allowed now must not turn into its neighbour.
  if (close.length === 1) {
    if (!options.isStartable(best.flow)) return { kind: 'guarded', flow: best.flow };
    return { kind: 'start', requests: [{ flow: best.flow, part: message, candidate: best }] };
  }
  const flows = close.filter((one) => options.isStartable(one.flow)).slice(0, mostOptions);
  const only = flows.length === 1 ? flows[0] : undefined;
  if (only !== undefined) {
    return { kind: 'start', requests: [{ flow: only.flow, part: message, candidate: only }] };
  }
  return flows.length === 0
    ? { kind: 'guarded', flow: best.flow }
    : { kind: 'unclear', flows: flows.map((one) => one.flow).toSorted(options.index.inOrder) };
}

function isMeant(candidate: Candidate, coverage: number): boolean {
  if (candidate.isExact) return true;
  const needed = candidate.isTopical ? leastTopical : leastConfidence;
  if (candidate.confidence < needed) return false;
  if (candidate.isContained) return true;
  // "When do you open?" is not about an account that is opened.
  const least = coverage > 0 && !candidate.isTopical ? 0.5 : coverage;
  return candidate.phraseCoverage >= least;
}

/**
 * The flows that are meant: "send 50 to Bob" of those that are meant nearly alike the one whose slots the message
 * fills. Two values make up for a word that is missing: "send Lisa Berg 50".
 */
function byValues(
  message: Message,
  { fillsOf }: RequestOptions,
  coverage: number,
  candidates: readonly Candidate[],
): readonly Candidate[] {
  // "Send Anna 20 and Bob 30": a flow that has no word for what is sent, and no slot for it, is less likely.
  const [first] = candidates;
  const isVague = first?.isTopical === false && fillsOf(first.flow, message).length === 0;
  const mostOther = isVague ? 0 : 1;
  const meant = candidates.filter(
    (one, at) =>
      isMeant(one, coverage) ||
      (at < mostCompared &&
        one.confidence >= leastFilled &&
        new Set(fillsOf(one.flow, message).map(({ kind }) => kind)).size > mostOther),
  );
  const [best, second] = meant;
  if (best === undefined || second === undefined || best.isExact) return meant;
  if (second.score < best.score * 0.5) return meant;
  return meant
    .slice(0, mostCompared)
    .map((one) => ({ ...one, score: one.score + fillValue * fillsOf(one.flow, message).length }))
    .toSorted((one, two) => Number(two.isExact) - Number(one.isExact) || two.score - one.score);
}

/** What is asked or to be shown is not to be changed: "show my payments" makes none. */
function ranked(
  message: Message,
  { index, without }: RequestOptions,
  ignored: readonly Span[],
): Candidate[] {
  const candidates = index.rank(message, ignored, { without });
  const isShowing = asksToShow(message);
  const isDoing = wishesToDo(message);
  const factor = isShowing ? 0.35 : leastCoverage(message) > practicalCoverage ? 0.6 : 1;
  if (factor === 1 && !isDoing) return candidates;
  return candidates
    .map((one) => {
      if (one.isExact) return one;
      // "I want to buy a house": what was bought is not asked for.
      if (isDoing && isReading(one.flow) && !one.isTopical && !one.isContained) {
        return { ...one, score: one.score * factor, confidence: one.confidence * 0.5 };
      }
      if (!isReading(one.flow)) return { ...one, score: one.score * factor };
      // "Everybody I have saved in my contacts": what is shown may be described by any word.
      return isShowing && one.isTopical
        ? { ...one, confidence: Math.max(one.confidence, shownConfidence) }
        : one;
    })
    .toSorted((one, two) => Number(two.isExact) - Number(one.isExact) || two.score - one.score);
}

function clearRequest(part: Message, options: RequestOptions): Request[] {
  const found = judge(part, options, []);
  return found.kind === 'start' ? [...found.requests] : [];
}

/** "I lost my debit card, please block it": the part that asks, when the whole says too much. */
function requestingPart(message: Message, options: RequestOptions): Requested {
  const requests = splitAt(message, weakSeparator)
    .filter((part) => opensAsRequest(part))
    .flatMap((part) => clearRequest(part, options))
    .filter((request) => request.candidate.confidence >= 0.9);
  return requests.length === 1 ? { kind: 'start', requests } : { kind: 'nothing' };
}

/** "Show my balance, send 5 to Eve, freeze my card": three parts or more, each a request of its own. */
function splitAll(message: Message, options: RequestOptions): Request[] | undefined {
  const parts = splitAt(message, weakSeparator);
  if (parts.length < 3 || parts.length > mostRequests) return undefined;
  const requests = distinct(parts.flatMap((part) => clearRequest(part, options).slice(0, 1)));
  const isEach = requests.length === parts.length;
  return isEach && requests.every((one) => standsAlone(one, options)) ? requests : undefined;
}

/**
 * "Send money and check my balance": a comma or "and" parts two requests only when both sides are
 * clear, different, and the second says at least two words of its flow. "50, show my balance": or
 * an answer from a request.
 */
function splitWeakly(message: Message, options: RequestOptions): Request[] | undefined {
  for (const match of message.text.matchAll(weakSeparator).take(mostParts)) {
    const left = messageOf(message.text.slice(0, match.index), message.language);
    const right = messageOf(message.text.slice(match.index + match[0].length), message.language);
    const first = clearRequest(left, options)[0];
    const about = first?.candidate ?? reportedIn(left, right, options);
    const behind = about === undefined ? right : withTopic(right, about);
    const second = clearRequest(behind, options)[0];
    if (second === undefined && first !== undefined && isGuarded(behind, options)) {
      return [{ ...first, isApart: true }];
    }
    if (second === undefined || !standsAlone(second, options)) continue;
    if (first === undefined) {
      const isAnswer = left.tokens.every((token) => !token.isContent);
      if (isAnswer || about !== undefined) return [second];
    } else if (first.flow.id !== second.flow.id) return [first, second];
  }
  return undefined;
}

/** "Log me in and raise my limit": what is not allowed yet does not keep the rest from starting. */
function isGuarded(part: Message, options: RequestOptions): boolean {
  return judge(part, options, options.ignored ?? []).kind === 'guarded';
}

/** "I blocked my card already, now I need a new one": what is reported in front of a request. */
function reportedIn(
  left: Message,
  right: Message,
  { index }: RequestOptions,
): Candidate | undefined {
  if (!opensAsRequest(right) && !/^now\b/.test(right.folded)) return undefined;
  const [about] = index.rank(left);
  return about !== undefined && moodOf(left, about) === 'reported' ? about : undefined;
}

/** Two words of its flow, two of its values, or what it is about and a word of asking: "tell me my balance". */
function standsAlone({ candidate, flow, part }: Request, { fillsOf }: RequestOptions): boolean {
  if (candidate.matched >= 2 || fillsOf(flow, part).length >= 2) return true;
  const isAsking = opensAsRequest(part) || part.language.weak.has(part.tokens[0]?.stem ?? '');
  return isAsking && candidate.explained.some((one) => one.isTopic);
}

/** "I lost my card and need a new one": one of what the first request is about. */
function withTopic(part: Message, { explained }: Candidate): Message {
  if (!/\b(?:one|ones|it|them)\b/.test(part.folded)) return part;
  const topics = explained.filter((one) => one.isTopic).map((one) => one.word);
  return messageOf(`${part.text} ${topics.join(' ')}`, part.language);
}

function splitAt(message: Message, separator: RegExp): Message[] {
  return message.text
    .split(separator, mostParts)
    .map((part) => messageOf(part.trim(), message.language))
    .filter((part) => part.tokens.length > 0);
}

function distinct(requests: readonly Request[]): Request[] {
  return requests.filter(
    (request, index) => requests.findIndex((one) => one.flow.id === request.flow.id) === index,
  );
}
