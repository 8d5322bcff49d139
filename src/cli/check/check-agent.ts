import type { Auth, ClientBinding } from '../../client/index.ts';
import {
  type AgentCard,
  type AgentInterface,
  cardUrls,
  isLegacyCard,
  LegateError,
  readAgentCard,
} from '../../protocol/index.ts';
import { cachingChecks, cardChecks, cardFindings, type CardSubject } from './card-checks.ts';
import { errorChecks } from './error-checks.ts';
import {
  aboutOf,
  type Finding,
  type Outcome,
  type Report,
  runChecks,
  type Scope,
} from './finding.ts';
import { type InterfaceSubject, operationChecks, streamChecks } from './operation-checks.ts';
import { type Answer, Probe, type ProbeOptions } from './probe.ts';
import type { Edition } from './rules.ts';
import { securityChecks } from './security-checks.ts';
import { GrpcSpeaker } from './grpc-speaker.ts';
import { HttpSpeaker, type Speaker } from './speaker.ts';

export interface CheckOptions extends ProbeOptions {
  /** The text of the test messages. */
  readonly text: string;
  /** Sends no messages: checks only the card and its caching. @default false */
  readonly isReadOnly?: boolean;
  /** Credentials for the security schemes of the card. */
  readonly authFor: (card: AgentCard) => Promise<Auth | undefined>;
  /** Bindings beside HTTP, for the interfaces of the card. */
  readonly bindingsOf: (card: AgentCard) => Promise<readonly ClientBinding[]>;
  /** Credentials for a protected card, used after the server refused an anonymous request. */
  readonly challengedAuth: () => Auth | undefined;
  readonly onFinding?: (finding: Finding) => void;
  /** Milliseconds since 1970. */
  readonly now: number;
}

const editions = { '1.0': '1.0.1', '0.3': '0.3.0' } as const;

/** Tests an agent from outside and reports what passes and what fails. */
export async function checkAgent(address: string, options: CheckOptions): Promise<Report> {
  const findings: Finding[] = [];
  const tell = (finding: Finding): void => {
    findings.push(finding);
    options.onFinding?.(finding);
  };
  const probe = new Probe(options);
  const found = await findCard(probe, address, options);
  if (found === undefined) {
    tell({
      ...foundAbout({ name: 'card', edition: '1.0.1' }),
      outcome: 'failed',
      detail: `there is none at ${cardUrls(new URL(address)).join(' or ')}`,
      fix: 'serve it at /.well-known/agent-card.json',
    });
    return reportOf(address, undefined, findings, options.now);
  }
  const edition: Edition = isLegacyCard(found.answer.json) ? '0.3.0' : '1.0.1';
  const scope = { name: 'card', edition };
  tell(foundFinding(found.url, address, scope));
  await runChecks(cardChecks, found, scope, tell);
  for (const finding of cardFindings(found.answer.json, scope)) tell(finding);
  await runChecks(cachingChecks, found, { name: 'caching', edition }, tell);
  const card = readable(found.answer.json);
  if (card !== undefined && options.isReadOnly !== true) {
    probe.authenticate(await options.authFor(card));
    const speakers = speakersOf(card, probe, await options.bindingsOf(card));
    for (const speaker of speakers) {
      const subject: InterfaceSubject = { speaker, card, text: options.text };
      const spoken = { name: speaker.name, edition: editions[speaker.version] };
      for (const checks of [operationChecks, streamChecks, errorChecks]) {
        await runChecks(checks, subject, spoken, tell);
      }
    }
    const whole = { probe, card, url: found.url, speakers, text: options.text };
    await runChecks(securityChecks, whole, { name: 'security', edition }, tell);
    for (const speaker of speakers) if (speaker instanceof GrpcSpeaker) speaker.close();
  }
  return reportOf(address, card, findings, options.now);
}

function reportOf(
  agent: string,
  card: AgentCard | undefined,
  findings: readonly Finding[],
  now: number,
): Report {
  const count = (outcome: Outcome): number =>
    findings.filter((finding) => finding.outcome === outcome).length;
  return {
    agent,
    ...(card !== undefined && { name: card.name }),
    checkedAt: new Date(now).toISOString(),
    counts: {
      passed: count('passed'),
      failed: count('failed'),
      warning: count('warning'),
      skipped: count('skipped'),
    },
    findings,
  };
}

function readable(json: unknown): AgentCard | undefined {
  try {
    return readAgentCard(json);
  } catch (error) {
    // The checks of the card report it.
    if (error instanceof LegateError) return undefined;
    throw error;
  }
}

/** The interfaces that Legate supports, each binding and version once. */
function speakersOf(
  card: AgentCard,
  probe: Probe,
  bindings: readonly ClientBinding[],
): readonly Speaker[] {
  const speakers = new Map<string, Speaker>();
  for (const offered of card.supportedInterfaces) {
    const speaker = speakerOf(offered, probe, bindings);
    if (speaker !== undefined && !speakers.has(speaker.name)) speakers.set(speaker.name, speaker);
  }
  return [...speakers.values()];
}

function speakerOf(
  offered: AgentInterface,
  probe: Probe,
  bindings: readonly ClientBinding[],
): Speaker | undefined {
  const { protocolBinding, protocolVersion, url, tenant } = offered;
  const binding = protocolBinding.toUpperCase();
  const version = versionOf(protocolVersion);
  if (version === undefined) return undefined;
  const routed = tenant === undefined || tenant === '' ? {} : { tenant };
  const given = bindings.find((one) => one.binding === binding);
  const place = given?.locate(url);
  if (given !== undefined && place !== undefined) {
    const chosen = { interface: offered, binding: given.binding, version, url: place };
    return new GrpcSpeaker(probe, given, { chosen, ...routed });
  }
  if (binding !== 'JSONRPC' && binding !== 'HTTP+JSON') return undefined;
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) return undefined;
  const base = binding === 'HTTP+JSON' ? url.replace(/\/+$/, '') : url;
  return new HttpSpeaker(probe, { binding, version, url: base, ...routed });
}

function versionOf(declared: string): '1.0' | '0.3' | undefined {
  if (/^1\.0(?:\.|$)/.test(declared)) return '1.0';
  return /^0\.3(?:\.|$)/.test(declared) ? '0.3' : undefined;
}

async function findCard(
  probe: Probe,
  address: string,
  { challengedAuth }: CheckOptions,
): Promise<CardSubject | undefined> {
  for (const { href: url } of cardUrls(new URL(address))) {
    let answer = await cardAt(probe, url);
    if (answer.status === 401) {
      const auth = challengedAuth();
      if (auth === undefined) {
        throw new LegateError('UNAUTHENTICATED', `the card at ${url} asks for credentials`);
      }
      probe.authenticate(auth);
      answer = await cardAt(probe, url);
    }
    if (answer.status === 401 || answer.status === 403) {
      throw new LegateError('UNAUTHENTICATED', `the card at ${url} refuses the credentials`);
    }
    if (answer.status === 200) return { probe, url, answer };
  }
  return undefined;
}

function cardAt(probe: Probe, url: string): Promise<Answer> {
  return probe.send({ url, headers: { Accept: 'application/json', 'A2A-Version': '1.0' } });
}

function foundAbout(scope: Scope): Omit<Finding, 'outcome'> {
  return aboutOf('card.found', 'the card is at a well-known path', scope);
}

function foundFinding(url: string, address: string, scope: Scope): Finding {
  if (!url.endsWith('/.well-known/agent.json') || address.endsWith('.json')) {
    return { ...foundAbout(scope), outcome: 'passed' };
  }
  return {
    ...foundAbout(scope),
    outcome: 'warning',
    detail: `it is at ${url}, where only old clients look for it`,
    fix: 'serve it at /.well-known/agent-card.json',
  };
}
