import type { Flow } from '../../model.ts';
import type { Candidate } from '../candidate.ts';
import type { FlowIndex, WithoutPhrase } from '../flow-index.ts';
import { type Message, messageOf, type Span } from '../words/words.ts';
import { asksToShow, isAnswering, isNegated, isReading, moodOf, wishesToDo } from './mood.ts';
import { leastCoverage, opensAsRequest, practicalCoverage } from './phrases.ts';
import { byValuesAlone } from './requests-by-values.ts';
import type { SlotProfile } from './slot-profile.ts';

/** What a message requests. */
export type Requested =
  | { readonly kind: 'start'; readonly requests: readonly Request[] }
  /** Several flows match about equally well. */
  | { readonly kind: 'unclear'; readonly flows: readonly Flow[] }
  /** A flow whose guard is false. */
  | { readonly kind: 'guarded'; readonly flow: Flow }
  /** The message asks how to do what a flow does. */
  | { readonly kind: 'offer'; readonly flow: Flow }
  /** The message asks about a flow, its consequences or costs, without requesting it. */
  | { readonly kind: 'question'; readonly flow: Flow }
  | { readonly kind: 'nothing' };

export interface Request {
  readonly flow: Flow;
  /** The part of the message that requests the flow. */
  readonly part: Message;
  readonly candidate: Candidate;
  /** The rest of the message, with its values, is about something else. */
  readonly isApart?: boolean;
}

export interface RequestOptions {
  readonly index: FlowIndex;
  /** Whether a flow can start. */
  readonly isStartable: (flow: Flow) => boolean;
  /** The slots of a flow that the message fills. */
  readonly fillsOf: (flow: Flow, message: Message) => readonly SlotProfile[];
  /** An example to ignore. */
  readonly without?: WithoutPhrase;
  /** Ranges of values in the message, which don't identify a flow. */
  readonly ignored?: readonly Span[];
}

/** Minimum confidence of a flow. */
export const leastConfidence = 0.55;
/** Minimum confidence of a flow that has the object of the request. */
const leastTopical = 0.5;
/** Flows with at least this share of the best score are equally likely. */
export const closeness = 0.8;
/** The same for a message of one word: "money" can mean any flow with that word. */
const closenessOfWord = 0.5;
const mostOptions = 3;
const mostRequests = 3;
/** Maximum number of parts that a message is split into. */
const mostParts = 12;
/** Number of flows whose slots are matched against a message. */
const mostCompared = 4;
/** Score of each slot that the message fills. */
const fillValue = 0.25;
/** Minimum confidence of a flow that the message has two values for. */
const leastFilled = 0.45;
/** Minimum confidence of a flow that shows what the message wants to see. */
const shownConfidence = 0.6;

const strongSeparator =
  /[.!?;]+\s+|[\s,]+oh,? (?:and|also)\b[\s,]*|[\s,]+(?:and )?(?:then|also|afterwards?|after that|secondly|on top of that|additionally|but(?: rather)?)\b[\s,]*|\s+plus\s+/gi;
const weakSeparator = /\s*,(?!\d{3}\b)\s*(?:and\s+)?|\s+(?:and|&)\s+/gi;

/** Finds what a message requests: one flow, several in one sentence, or a choice between some. */
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

/** "I don't want to send money", "stop blocking my card" request nothing. */
const unwanted =
  /\b(?:do ?n'?t|do not|never|no longer) (?:want|wish|need|like|have)\b|\bno need (?:to|for)\b|\b(?:instead of|rather than|stop|quit|without) \w+ing\b/;
/** "Not the balance, the statement". */
const contrasted = /^(?:no[\s,]+)?not (?:the|my|an?|that|this)\b/;
const clauseEnd = /\s*[,.;!?]+\s+|\s+(?:but|so)\s+|\s+(?=(?:instead of|rather than) \w+ing\b)/gi;

/** "I don't want to freeze it, I just need a new card": the request next to the negated one. */
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

/** The candidate of a flow that shares no word with the message. */
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
  // "Money" matches "how much money do I have" exactly, because fillers don't count. Other flows stay
  // candidates.
  const isSame = (one: Candidate): boolean =>
    one.isExact === best.isExact || (isWord && best.phrase.includes(' '));
  const close = meant.filter(
    (one) =>
      isSame(one) && one.score >= best.score * near && one.confidence >= best.confidence - 0.25,
  );
  // If the best flow is guarded, a similar one must not start instead.
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
  // "When do you open?" doesn't request to open an account.
  const least = coverage > 0 && !candidate.isTopical ? 0.5 : coverage;
  return candidate.phraseCoverage >= least;
}

/**
 * The flows that match. Among nearly equal flows, the one whose slots the message fills wins: "send 50 to
 * Bob". Two values compensate for a missing word: "send Lisa Berg 50".
 */
function byValues(
  message: Message,
  { fillsOf }: RequestOptions,
  coverage: number,
  candidates: readonly Candidate[],
): readonly Candidate[] {
  // "Send Anna 20 and Bob 30": a flow is less likely if it shares only the action and the message fills
  // none of its slots.
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

/**
 * Ranks flows. Questions and look-ups lower the score of flows that change data: "show my payments"
 * doesn't create one.
 */
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
      // "I want to buy a house" doesn't ask what was bought.
      if (isDoing && isReading(one.flow) && !one.isTopical && !one.isContained) {
        return { ...one, score: one.score * factor, confidence: one.confidence * 0.5 };
      }
      if (!isReading(one.flow)) return { ...one, score: one.score * factor };
      // "Everybody I have saved in my contacts": any words can describe what the user wants to see.
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

/**
 * "I lost my debit card, please block it": the part that requests something, if the whole message matches
 * no flow.
 */
function requestingPart(message: Message, options: RequestOptions): Requested {
  const requests = splitAt(message, weakSeparator)
    .filter((part) => opensAsRequest(part))
    .flatMap((part) => clearRequest(part, options))
    .filter((request) => request.candidate.confidence >= 0.9);
  return requests.length === 1 ? { kind: 'start', requests } : { kind: 'nothing' };
}

/** "Show my balance, send 5 to Eve, freeze my card": three parts, each a separate request. */
function splitAll(message: Message, options: RequestOptions): Request[] | undefined {
  const parts = splitAt(message, weakSeparator);
  if (parts.length < 3 || parts.length > mostRequests) return undefined;
  const requests = distinct(parts.flatMap((part) => clearRequest(part, options).slice(0, 1)));
  const isEach = requests.length === parts.length;
  return isEach && requests.every((one) => standsAlone(one, options)) ? requests : undefined;
}

/**
 * "Send money and check my balance": a comma or "and" separates two requests only if both sides are clear
 * and different, and the second contains at least two words of its flow. "50, show my balance": it can
 * also separate an answer from a request.
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

/** "Log me in and raise my limit": a guarded second request doesn't prevent the first from starting. */
function isGuarded(part: Message, options: RequestOptions): boolean {
  return judge(part, options, options.ignored ?? []).kind === 'guarded';
}

/** "I blocked my card already, now I need a new one": the flow that is reported before a request. */
function reportedIn(
  left: Message,
  right: Message,
  { index }: RequestOptions,
): Candidate | undefined {
  if (!opensAsRequest(right) && !/^now\b/.test(right.folded)) return undefined;
  const [about] = index.rank(left);
  return about !== undefined && moodOf(left, about) === 'reported' ? about : undefined;
}

/**
 * Whether a request is clear without the rest: two words of its flow, two values, or the object and a
 * request verb: "tell me my balance".
 */
function standsAlone({ candidate, flow, part }: Request, { fillsOf }: RequestOptions): boolean {
  if (candidate.matched >= 2 || fillsOf(flow, part).length >= 2) return true;
  const isAsking = opensAsRequest(part) || part.language.weak.has(part.tokens[0]?.stem ?? '');
  return isAsking && candidate.explained.some((one) => one.isTopic);
}

/** "I lost my card and need a new one": resolves "one" to the object of the first request. */
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
