import { type AgentCard, isEncryptedOrLocal } from '../../protocol/index.ts';
import { type Check, skip } from './finding.ts';
import { type InterfaceSubject, sendRequest } from './operation-checks.ts';
import type { Probe } from './probe.ts';
import { HttpSpeaker, overHttp, type Speaker, type SpeakOptions } from './speaker.ts';

/** The whole agent, after all other checks ran. */
export interface SecuritySubject {
  readonly probe: Probe;
  readonly card: AgentCard;
  readonly url: string;
  readonly speakers: readonly Speaker[];
  readonly text: string;
}

/** Larger than the default body limit of web frameworks, smaller than typical documents. */
const largeText = 200 * 1024;

/** The first HTTP interface, else the first interface. */
function firstOf({ speakers, card, text }: SecuritySubject): InterfaceSubject {
  const first = speakers.find((one) => one instanceof HttpSpeaker) ?? speakers[0];
  return { speaker: first ?? skip('there is no interface to call'), card, text };
}

/** Undefined when every interface refuses the caller; else the answer of the first that does not. */
async function refusedBy(
  { speakers }: SecuritySubject,
  options: SpeakOptions,
): Promise<string | undefined> {
  if (speakers.length === 0) skip('there is no interface to call');
  for (const speaker of speakers) {
    const { error } = await speaker.speak('getTask', { id: 'no-such-task' }, options);
    // An agent that looks for the task has accepted the caller.
    if (error === undefined || error.code === 'TASK_NOT_FOUND') {
      return `${speaker.name} answers with ${error?.code ?? 'a result'}`;
    }
  }
  return undefined;
}

function demandsCredentials({ card }: SecuritySubject): boolean {
  // An empty requirement makes the others optional.
  const requirements = card.securityRequirements ?? [];
  return (
    requirements.length > 0 && requirements.every(({ schemes }) => Object.keys(schemes).length > 0)
  );
}

export const securityChecks: readonly Check<SecuritySubject>[] = [
  {
    id: 'security.tls',
    title: 'the agent is called over TLS',
    fix: 'serve https, also behind a proxy, and list https URLs in the card',
    run: ({ url, speakers }) => {
      const plain = [url, ...speakers.map((one) => one.url)].filter(
        (one) => !isEncryptedOrLocal(new URL(one)),
      );
      return plain.length === 0 ? undefined : `${plain.join(', ')} is plain http`;
    },
  },
  {
    id: 'security.credentials-demanded',
    title: 'callers without credentials are refused',
    fix: 'authenticate the caller first, on every operation',
    run: async (subject) => {
      if (!demandsCredentials(subject)) skip('the card requires none');
      return refusedBy(subject, { isAnonymous: true });
    },
  },
  {
    id: 'security.challenge',
    title: 'a 401 names the accepted credentials',
    fix: 'answer 401 with WWW-Authenticate',
    run: async (subject) => {
      if (!demandsCredentials(subject)) skip('the card requires none');
      const speaker = overHttp(firstOf(subject).speaker);
      const request = { id: 'no-such-task' };
      const { answer } = await speaker.speak('getTask', request, { isAnonymous: true });
      return answer.headers.has('WWW-Authenticate') ? undefined : 'WWW-Authenticate is missing';
    },
  },
  {
    id: 'security.wrong-credentials',
    title: 'made-up credentials are refused',
    fix: 'verify the signature or the value of every credential',
    run: async (subject) => {
      if (!demandsCredentials(subject)) skip('the card requires none');
      const headers = { Authorization: 'Bearer made-up', 'X-API-Key': 'made-up' };
      return refusedBy(subject, { headers, isAnonymous: true });
    },
  },
  {
    id: 'security.open',
    title: 'a remote agent authenticates its callers',
    fix: 'configure authentication: anyone who finds the URL can use the agent',
    run: (subject) => {
      if (demandsCredentials(subject)) return undefined;
      const { hostname } = new URL(subject.url);
      const isLocal = /^(?:localhost|\[::1\]|127\.\d+\.\d+\.\d+)$/.test(hostname);
      return isLocal ? undefined : 'the card requires no credentials';
    },
  },
  {
    id: 'security.cross-origin',
    title: 'other origins cannot act for a signed-in browser',
    fix: 'name the origins that may call, and never mirror any origin with credentials',
    run: async (subject) => {
      const speaker = overHttp(firstOf(subject).speaker);
      const headers = { Origin: 'https://elsewhere.example' };
      const request = { id: 'no-such-task' };
      const { answer } = await speaker.speak('getTask', request, { headers });
      const allowed = answer.headers.get('Access-Control-Allow-Origin');
      const withCredentials = answer.headers.get('Access-Control-Allow-Credentials') === 'true';
      return allowed === 'https://elsewhere.example' && withCredentials
        ? 'any origin may call with the credentials of the user'
        : undefined;
    },
  },
  {
    id: 'security.large-body',
    title: 'a large message is accepted, or refused in JSON',
    fix: 'raise the body limit, and answer larger bodies with a JSON error',
    run: async (subject) => {
      const inner = { ...firstOf(subject), text: 'a'.repeat(largeText) };
      const { answer } = await inner.speaker.speak('sendMessage', sendRequest(inner));
      return answer.json === undefined
        ? `200 KiB of text are answered with HTTP ${answer.status} and no JSON`
        : undefined;
    },
  },
  {
    id: 'security.no-traces',
    title: 'no answer contains a stack trace',
    fix: 'answer with an error of the protocol, and log the stack trace',
    run: ({ probe }) => {
      const trace = /^\s+at .+:\d+:\d+|Traceback \(most recent|node_modules[\\/]/m;
      const shown = probe.answers.filter(({ text }) =>
        trace.test(text.replaceAll(/\\n|&nbsp;|<br>/g, '\n')),
      );
      return shown.length === 0 ? undefined : `${shown.length} answers contain a stack trace`;
    },
  },
  {
    id: 'security.json-errors',
    title: 'errors are never HTML pages',
    fix: 'answer every error with a JSON body',
    run: ({ probe }) => {
      const pages = probe.answers.filter(
        ({ status, headers }) => status >= 400 && /html/.test(headers.get('Content-Type') ?? ''),
      );
      const statuses = [...new Set(pages.map(({ status }) => status))].join(', ');
      return pages.length === 0 ? undefined : `${pages.length} answers are HTML (${statuses})`;
    },
  },
  {
    id: 'security.nosniff',
    title: 'responses forbid browsers to guess media types',
    fix: 'answer with X-Content-Type-Options: nosniff',
    run: ({ probe }) =>
      probe.answers.some(({ headers }) => headers.get('X-Content-Type-Options') === 'nosniff')
        ? undefined
        : 'X-Content-Type-Options is missing',
  },
  {
    id: 'security.banner',
    title: 'answers do not name the software',
    fix: 'leave X-Powered-By out',
    run: ({ probe }) => {
      const banner = probe.answers.find(({ headers }) => headers.has('X-Powered-By'));
      return banner === undefined
        ? undefined
        : `X-Powered-By: ${banner.headers.get('X-Powered-By') ?? ''}`;
    },
  },
];
