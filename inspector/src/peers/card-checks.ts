import { type AgentCard, readAgentCard } from '../../../src/protocol/index.ts';
import { problemsOf } from '../wire/validate-frame.ts';

export interface CardFinding {
  readonly level: 'error' | 'warning';
  readonly text: string;
}

export interface CheckedCard {
  /** As far as it can be read at all. */
  readonly card: AgentCard | undefined;
  readonly findings: readonly CardFinding[];
}

/** Looks at a card as it was received: what the specification demands, and what is wise besides. */
export function checkCard(json: unknown): CheckedCard {
  const findings: CardFinding[] = [];
  const error = (text: string): void => void findings.push({ level: 'error', text });
  const warn = (text: string): void => void findings.push({ level: 'warning', text });
  let card: AgentCard | undefined;
  try {
    card = readAgentCard(json);
  } catch (thrown) {
    for (const problem of problemsOf(thrown)) error(problem);
  }
  if (!isObject(json)) return { card, findings };
  checkFields(json, error);
  checkModes(json, error);
  checkInterfaces(json, error, warn);
  checkSkills(json, error, warn);
  if (json['signatures'] === undefined) warn('signatures: the card is not signed');
  return { card, findings: unique(findings) };
}

type Report = (text: string) => void;
type Wire = Readonly<Record<string, unknown>>;

function checkFields(json: Wire, error: Report): void {
  for (const name of ['name', 'description', 'version']) {
    if (typeof json[name] !== 'string' || json[name] === '') error(`${name}: is required`);
  }
  if (!isObject(json['capabilities'])) error('capabilities: is required');
}

function checkModes(json: Wire, error: Report): void {
  for (const name of ['defaultInputModes', 'defaultOutputModes']) {
    const modes = json[name];
    const isList = Array.isArray(modes) && modes.every((mode) => typeof mode === 'string');
    if (!isList || modes.length === 0) error(`${name}: must list at least one media type`);
    else if (!modes.every((mode: string) => /^[\w.+-]+\/[\w.+*-]+$/.test(mode))) {
      error(`${name}: has an entry that is no media type`);
    }
  }
}

function checkInterfaces(json: Wire, error: Report, warn: Report): void {
  const { supportedInterfaces, url } = json;
  if (!Array.isArray(supportedInterfaces)) {
    if (typeof url !== 'string') error('supportedInterfaces: is required');
    else warn('supportedInterfaces: is missing; only readers of 0.3 understand this card');
    return;
  }
  if (supportedInterfaces.length === 0) error('supportedInterfaces: must list at least one');
  for (const [index, each] of (supportedInterfaces as readonly unknown[]).entries()) {
    const place = `supportedInterfaces[${index}]`;
    if (!isObject(each)) {
      error(`${place}: must be an object`);
      continue;
    }
    const address = typeof each['url'] === 'string' ? URL.parse(each['url']) : null;
    const isGrpc = each['protocolBinding'] === 'GRPC';
    if (address === null && !isGrpc) error(`${place}.url: must be an absolute address`);
    if (address?.protocol === 'http:' && !isLocal(address.hostname)) {
      warn(`${place}.url: is not encrypted`);
    }
    for (const name of ['protocolBinding', 'protocolVersion']) {
      if (typeof each[name] !== 'string' || each[name] === '')
        error(`${place}.${name}: is required`);
    }
  }
}

function checkSkills(json: Wire, error: Report, warn: Report): void {
  const { skills } = json;
  if (!Array.isArray(skills)) return error('skills: must be a list');
  if (skills.length === 0) warn('skills: there are none, so nobody can tell what the agent does');
  const ids = new Set<unknown>();
  for (const [index, skill] of (skills as readonly unknown[]).entries()) {
    if (!isObject(skill)) {
      error(`skills[${index}]: must be an object`);
      continue;
    }
    for (const name of ['id', 'name', 'description']) {
      if (typeof skill[name] !== 'string' || skill[name] === '') {
        error(`skills[${index}].${name}: is required`);
      }
    }
    if (!Array.isArray(skill['tags'])) error(`skills[${index}].tags: is required`);
    if (ids.has(skill['id'])) error(`skills[${index}].id: is that of another skill`);
    ids.add(skill['id']);
  }
}

function isLocal(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
}

function unique(findings: readonly CardFinding[]): readonly CardFinding[] {
  const seen = new Set<string>();
  return findings.filter(({ text }) => !seen.has(text) && seen.add(text));
}

function isObject(value: unknown): value is Wire {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
