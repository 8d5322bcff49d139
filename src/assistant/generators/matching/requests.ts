import type { Flow } from '../../model.ts';
import type { Candidate, FlowIndex } from '../flow-index.ts';
import { type Message, messageOf, type Span } from '../words/words.ts';
import { leastCoverage, opensAsRequest } from './phrases.ts';

/** What a message asks to start. */
export type Requested =
  | { readonly kind: 'start'; readonly requests: readonly Request[] }
  /** Several flows come close to each other. */
  | { readonly kind: 'unclear'; readonly flows: readonly Flow[] }
  | { readonly kind: 'nothing' };

export interface Request {
  readonly flow: Flow;
  /** The part of the message that asks for it. */
  readonly part: Message;
  readonly candidate: Candidate;
}

interface RequestOptions {
  readonly index: FlowIndex;
  /** Flows that may be started. */
  readonly isStartable: (flow: Flow) => boolean;
  /** Values of the message, which say nothing about the flow. */
  readonly ignored?: readonly Span[];
}

/** Below this share of explained words a flow is not meant. */
const leastConfidence = 0.55;
/** A flow whose score is nearer to the best one than this is as likely. */
const closeness = 0.8;
const mostOptions = 3;
const mostRequests = 3;
/** Separators looked at: nobody asks for more in one message. */
const mostParts = 12;

const strongSeparator =
  /[.!?;]+\s+|[\s,]+(?:and )?(?:then|also|afterwards?|after that|secondly|on top of that|additionally|but(?: rather)?)\b[\s,]*|\s+plus\s+/gi;
const weakSeparator = /\s*,\s*(?:and\s+)?|\s+(?:and|&)\s+/gi;

/** Finds what a message asks to start: one flow, several in one sentence, or a choice between some. */
export function findRequests(message: Message, options: RequestOptions): Requested {
  const parts = splitAt(message, strongSeparator);
  if (parts.length > 1) {
    const requests = distinct(
      parts.flatMap((part) => splitWeakly(part, options) ?? clearRequest(part, options)),
    );
    if (requests.length > 1) return { kind: 'start', requests: requests.slice(0, mostRequests) };
    const only = requests[0];
    if (only !== undefined) return { kind: 'start', requests: [only] };
  } else {
    const apart = splitWeakly(message, options);
    if (apart !== undefined) return { kind: 'start', requests: apart };
  }
  const judged = judge(message, options, options.ignored ?? []);
  return judged.kind === 'nothing' ? requestingPart(message, options) : judged;
}

/** "I don't want to send money" asks for nothing. */
const unwanted = /\b(?:do ?n'?t|do not|never|no longer) (?:want|wish|need|like|have)\b/;

function judge(message: Message, options: RequestOptions, ignored: readonly Span[]): Requested {
  if (unwanted.test(message.folded)) return { kind: 'nothing' };
  const coverage = leastCoverage(message);
  const meant = options.index.rank(message, ignored).filter((one) => isMeant(one, coverage));
  const best = meant[0];
  if (best === undefined) return { kind: 'nothing' };
  const close = meant.filter(
    (one) =>
      one.isExact === best.isExact &&
      one.score >= best.score * closeness &&
      one.confidence >= best.confidence - 0.25,
  );
  // What is meant but not allowed now must not turn into its neighbour.
  if (close.length === 1) {
    if (!options.isStartable(best.flow)) return { kind: 'nothing' };
    return { kind: 'start', requests: [{ flow: best.flow, part: message, candidate: best }] };
  }
  const flows = close.filter((one) => options.isStartable(one.flow)).slice(0, mostOptions);
  const only = flows.length === 1 ? flows[0] : undefined;
  if (only !== undefined) {
    return { kind: 'start', requests: [{ flow: only.flow, part: message, candidate: only }] };
  }
  return flows.length === 0
    ? { kind: 'nothing' }
    : { kind: 'unclear', flows: flows.map((one) => one.flow) };
}

function isMeant(candidate: Candidate, coverage: number): boolean {
  if (candidate.isExact) return true;
  return candidate.confidence >= leastConfidence && candidate.phraseCoverage >= coverage;
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

/**
 * "Send money and check my balance": a comma or "and" parts two requests only when both sides are
 * clear, different, and the second says at least two words of its flow. "50, show my balance": or
 * an answer from a request.
 */
function splitWeakly(message: Message, options: RequestOptions): Request[] | undefined {
  for (const match of message.text.matchAll(weakSeparator).take(mostParts)) {
    const left = messageOf(message.text.slice(0, match.index));
    const right = messageOf(message.text.slice(match.index + match[0].length));
    const second = clearRequest(right, options)[0];
    if (second === undefined || second.candidate.matched < 2) continue;
    const first = clearRequest(left, options)[0];
    if (first === undefined) {
      const isAnswer = left.tokens.every((token) => !token.isContent);
      if (isAnswer) return [second];
    } else if (first.flow.id !== second.flow.id) return [first, second];
  }
  return undefined;
}

function splitAt(message: Message, separator: RegExp): Message[] {
  return message.text
    .split(separator, mostParts)
    .map((part) => messageOf(part.trim()))
    .filter((part) => part.tokens.length > 0);
}

function distinct(requests: readonly Request[]): Request[] {
  return requests.filter(
    (request, index) => requests.findIndex((one) => one.flow.id === request.flow.id) === index,
  );
}
