import { type CardTrust, readCardTrust } from './card-trust-section.ts';
import { type ClientTlsFiles, readClientTls } from './client-tls-section.ts';
import type { Field, Section } from './field.ts';

/** A peer in `peers.well_known`. */
export interface WellKnownSettings {
  readonly name: string;
  /** Undefined for a peer on the bus. */
  readonly url: string | undefined;
  /** The skill of `call:` steps that name this peer. */
  readonly skill: string | undefined;
  /** A request header that authenticates this process at the peer. */
  readonly auth: { readonly header: string; readonly value: string } | undefined;
  /** The keys that must have signed its card. */
  readonly verifyCard: CardTrust | undefined;
}

const toolModes = ['wait', 'dispatch', 'none'] as const;
const answerers = ['user', 'trusted_agent'] as const;

/** The settings in `peers:` of endpoints.yml; undefined where a key is absent. */
export interface PeersSettings {
  readonly wellKnown: readonly WellKnownSettings[];
  /** A file of well-known agents, relative to endpoints.yml. */
  readonly wellKnownFile: string | undefined;
  /** Certificates for calls to well-known peers. */
  readonly tls: ClientTlsFiles | undefined;
  /** Whether to add agents that announce themselves on the bus. */
  readonly discovery: boolean | undefined;
  /** Whether callers are limited by their trust level. */
  readonly trust: boolean | undefined;
  /** How models call peers: they wait for the result, get a receipt, or can't call peers. */
  readonly tools: (typeof toolModes)[number] | undefined;
  /** Time limit of a call to a peer. */
  readonly timeoutSeconds: number | undefined;
  readonly maxInFlight: number | undefined;
  /** How long results are kept in working memory. */
  readonly resultTtlSeconds: number | undefined;
  /** The model group whose first model creates embeddings, to find services by meaning. */
  readonly embeddingGroup: string | undefined;
  readonly questions: {
    /** The user or trusted agent that answers questions of peers. */
    readonly answeredBy: (typeof answerers)[number] | undefined;
    /** Time limit for a person's answer. */
    readonly timeoutSeconds: number | undefined;
    readonly maxRounds: number | undefined;
    readonly maxRepetitions: number | undefined;
  };
}

const seconds = { minimum: 1, isInteger: true };
const count = { minimum: 1, isInteger: true };

/** Reads `peers:` with all its keys. `onModelGroup` gets the field of the model group of `embeddings`. */
export function readPeers(
  section: Section,
  onModelGroup?: (field: Field, name: string) => void,
): PeersSettings {
  const wellKnown: WellKnownSettings[] = [];
  for (const field of section.list('well_known')) {
    const peer = readWellKnown(field);
    if (peer === undefined) continue;
    const isTwice = wellKnown.some(({ name }) => name.toLowerCase() === peer.name.toLowerCase());
    if (isTwice) field.error(`two peers are named "${peer.name}"`, 'keep one of them');
    else wellKnown.push(peer);
  }
  const questions = section.section('questions');
  const embeddings = section.section('embeddings');
  const group = embeddings?.require('model_group');
  const embeddingGroup = group?.name();
  if (group !== undefined && embeddingGroup !== undefined) onModelGroup?.(group, embeddingGroup);
  const settings = {
    wellKnown,
    wellKnownFile: section.name('well_known_file'),
    tls: section.mapping('tls', readClientTls),
    discovery: section.boolean('discovery'),
    trust: section.boolean('trust'),
    tools: section.get('tools')?.oneOf(toolModes),
    timeoutSeconds: section.number('timeout_seconds', { ...seconds, maximum: 7 * 24 * 60 * 60 }),
    maxInFlight: section.number('max_in_flight', count),
    resultTtlSeconds: section.number('result_ttl_seconds', seconds),
    embeddingGroup,
    questions: {
      answeredBy: questions?.get('answered_by')?.oneOf(answerers),
      timeoutSeconds: questions?.number('timeout_seconds', seconds),
      maxRounds: questions?.number('max_rounds', count),
      maxRepetitions: questions?.number('max_repetitions', count),
    },
  };
  questions?.finish();
  embeddings?.finish();
  section.finish();
  return settings;
}

/** Reads the name of a peer on the bus, or a mapping. */
function readWellKnown(field: Field): WellKnownSettings | undefined {
  if (!field.isMapping()) {
    const name = field.name();
    if (name === undefined) return undefined;
    if (/^https?:/.test(name)) {
      field.error('a peer with a URL needs a name', `write {name: bob, url: ${name}}`);
      return undefined;
    }
    return {
      name,
      url: undefined,
      skill: undefined,
      auth: undefined,
      verifyCard: undefined,
    };
  }
  const section = field.section();
  if (section === undefined) return undefined;
  const name = section.require('name')?.name();
  const url = section.get('url');
  const auth = section.mapping('auth', (given) => {
    const header = given.require('header', 'write X-Api-Key, for instance')?.name();
    const value = given.require('value', 'write "${PEER_KEY}"')?.secret();
    given.finish();
    return header === undefined || value === undefined ? undefined : { header, value };
  });
  const verifyCard = section.mapping('verify_card', readCardTrust);
  const skill = section.name('skill');
  section.finish();
  const address = url?.name();
  if (address !== undefined && !/^https?:\/\/[^/]/.test(address)) {
    url?.error('not an http or https URL', 'write https://bob.example');
  }
  if (auth !== undefined && address === undefined) {
    section.get('auth')?.keyError('"auth" is for peers with a URL', {
      hint: 'on the bus, sign messages: bus.signing_key',
    });
  }
  if (verifyCard !== undefined && address === undefined) {
    section.get('verify_card')?.keyError('"verify_card" is for peers with a URL', {
      hint: 'on the bus, name the keys of peers: bus.trusted',
    });
  }
  return name === undefined ? undefined : { name, url: address, skill, auth, verifyCard };
}
