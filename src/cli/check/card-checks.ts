import { cardProblems, isLegacyCard, isJsonObject, readAgentCard } from '../../protocol/index.ts';
import { aboutOf, type Check, type Finding, type Scope, skip } from './finding.ts';
import type { Answer, Probe } from './probe.ts';

/** The URL of the card, and the responses from there. */
export interface CardSubject {
  readonly probe: Probe;
  readonly url: string;
  readonly answer: Answer;
}

export const cardChecks: readonly Check<CardSubject>[] = [
  {
    id: 'card.media-type',
    title: 'the card is served as JSON',
    fix: 'answer with Content-Type: application/json',
    run: ({ answer }) => {
      const type = answer.headers.get('Content-Type') ?? 'none';
      return /^application\/(?:[\w.-]+\+)?json\b/i.test(type)
        ? undefined
        : `Content-Type is ${type}`;
    },
  },
  {
    id: 'card.readable',
    title: 'the card can be read',
    fix: 'see the problems of the card below',
    run: ({ answer }) => {
      readAgentCard(answer.json);
      return undefined;
    },
  },
  {
    id: 'card.unversioned',
    title: 'the card without A2A-Version lists supportedInterfaces',
    fix: 'serve the card of 1.0 whether A2A-Version is sent or not',
    run: async ({ probe, url, answer }) => {
      if (isLegacyCard(answer.json)) skip('the card supports only 0.3');
      const { json } = await probe.send({ url });
      return isJsonObject(json) && Array.isArray(json['supportedInterfaces'])
        ? undefined
        : 'the card that came without A2A-Version has no supportedInterfaces';
    },
  },
  {
    id: 'card.public-fields',
    title: 'the card contains no credentials',
    fix: 'remove the secret from the card and revoke it',
    run: ({ answer }) => {
      const found = /"(?:client_?secret|password|api_?key|access_?token)"\s*:\s*"[^"]{6,}"/i.exec(
        answer.text,
      );
      return found === null ? undefined : 'a member looks like a secret';
    },
  },
  {
    id: 'card.signature',
    title: 'the card is signed',
    fix: 'sign the card, so that clients can detect forged cards',
    run: ({ answer }) => {
      const signatures = isJsonObject(answer.json) ? answer.json['signatures'] : undefined;
      return Array.isArray(signatures) && signatures.length > 0
        ? undefined
        : 'it has no signatures';
    },
  },
];

/** One finding for each problem of the card, or one finding that there is none. */
export function cardFindings(card: unknown, scope: Scope): readonly Finding[] {
  const problems = cardProblems(card);
  if (problems.length === 0) {
    return [{ ...aboutOf('card.valid', 'the card is valid', scope), outcome: 'passed' }];
  }
  return problems.map(({ level, path, problem, fix }) => {
    const subject = path === '' ? 'the card' : path;
    const about = aboutOf('card.valid', `${subject} is valid`, scope);
    const detail = `${subject} ${problem}`;
    if (level === 'error') return { ...about, outcome: 'failed', detail, fix };
    const { specification: _, ...convention } = about;
    return { ...convention, outcome: 'warning', detail, fix };
  });
}

export const cachingChecks: readonly Check<CardSubject>[] = [
  {
    id: 'caching.max-age',
    title: 'the card has a Cache-Control lifetime',
    fix: 'answer with Cache-Control: max-age=…',
    run: ({ answer }) => {
      const value = answer.headers.get('Cache-Control') ?? 'none';
      return /\bmax-age=\d+/.test(value) ? undefined : `Cache-Control is ${value}`;
    },
  },
  {
    id: 'caching.etag',
    title: 'the card has an ETag',
    fix: 'answer with an ETag made from the version or the content of the card',
    run: ({ answer }) => (answer.headers.has('ETag') ? undefined : 'there is none'),
  },
  {
    id: 'caching.last-modified',
    title: 'the card has Last-Modified',
    fix: 'answer with Last-Modified',
    run: ({ answer }) => (answer.headers.has('Last-Modified') ? undefined : 'there is none'),
  },
  {
    id: 'caching.not-modified',
    title: 'conditional requests for the card are answered with 304',
    fix: 'answer 304 to If-None-Match with the current ETag',
    run: async ({ probe, url, answer }) => {
      const etag = answer.headers.get('ETag') ?? skip('the card has no ETag');
      // Set explicitly: fetch would otherwise add `no-cache`, and then 200 is a valid answer, too.
      const cached = { 'Cache-Control': 'max-age=0', 'If-None-Match': etag };
      const headers = { 'A2A-Version': '1.0', ...cached };
      const { status } = await probe.send({ url, headers });
      return status === 304 ? undefined : `If-None-Match was answered with ${status}`;
    },
  },
];
