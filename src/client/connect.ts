import {
  type AgentCard,
  checkOptions,
  type JsonObject,
  readAgentCard,
  v03,
  v03Rest,
  v03RestTwice,
  v1,
} from '../protocol/index.ts';
import { within } from '../time/index.ts';
import { BoundTransport } from './binding.ts';
import { fetchCard, type FetchedCard, refetchCard } from './card.ts';
import { Client } from './client.ts';
import { HttpTransport } from './http-transport.ts';
import { Http } from './http.ts';
import { chooseInterface, type ChosenInterface } from './interface-choice.ts';
import { decodeAnswer } from './operation-codecs.ts';
import { type ClientOptions, connectOptionNames, type Settings, withDefaults } from './options.ts';
import { timeLimit, withRetry } from './retry.ts';
import type { Transport } from './transport.ts';

/**
 * How a client finds and calls an agent.
 * @example const options: ConnectOptions = { auth: { bearer: 'secret' }, timeoutMs: 10_000 };
 */
export interface ConnectOptions extends ClientOptions {
  /** Aborts the fetch of the card. */
  readonly signal?: AbortSignal;
}

/**
 * Creates a client of the agent at an address, or of the agent that a card describes. For an address it
 * fetches the card, and sends no other request.
 * @example const client = await connect('https://agent.example', { auth: { bearer: token } })
 */
export async function connect(
  agent: string | URL | AgentCard | JsonObject,
  options: ConnectOptions = {},
): Promise<Client> {
  checkOptions('connect', options, connectOptionNames);
  const settings = withDefaults(options);
  const http = new Http(settings);
  const transportFor = (card: AgentCard) =>
    transportOf(chooseInterface(card, settings), http, settings, card);
  if (typeof agent !== 'string' && !(agent instanceof URL)) {
    const verified = await http.verifyCard(agent);
    const card = decodeAnswer(readAgentCard, verified, 'the agent card');
    return new Client({ settings, http, card, transportFor });
  }
  const fetched = await fetchWithin(String(agent), http, settings, options);
  return new Client({ settings, http, card: fetched.card, fetched, transportFor });
}

/**
 * Fetches the card at an agent's address, without calling the agent. With a previously fetched card,
 * returns the same object if the card has not changed.
 * @example const { card } = await fetchAgentCard('https://agent.example')
 */
export async function fetchAgentCard(
  agent: string | URL | FetchedCard,
  options: ConnectOptions = {},
): Promise<FetchedCard> {
  checkOptions('fetchAgentCard', options, connectOptionNames);
  const settings = withDefaults(options);
  const address = agent instanceof URL ? agent.href : agent;
  return fetchWithin(address, new Http(settings), settings, options);
}

function fetchWithin(
  address: string | FetchedCard,
  http: Http,
  settings: Settings,
  { signal }: ConnectOptions,
): Promise<FetchedCard> {
  const { timeoutMs } = settings;
  const limit = timeLimit('the request for the agent card was not answered', timeoutMs);
  return within({ signal, ...limit }, (signal) =>
    withRetry(settings, signal, () =>
      typeof address === 'string'
        ? fetchCard(address, http, { signal })
        : refetchCard(address, http, { signal }),
    ),
  );
}

function transportOf(
  chosen: ChosenInterface,
  http: Http,
  settings: Settings,
  { capabilities }: AgentCard,
): Transport {
  const { bindings, legacyFileBytes } = settings;
  const declared = new Set(capabilities.extensions?.map(({ uri }) => uri));
  const optional = settings.optionalExtensions.filter((uri) => declared.has(uri));
  const extensions = [...new Set([...settings.extensions, ...optional])];
  const given = bindings.find(({ binding }) => binding === chosen.binding);
  const legacy = legacyFileBytes === 'twice' ? v03RestTwice : v03Rest;
  const dialect = chosen.version === '1.0' ? v1 : chosen.binding === 'JSONRPC' ? v03 : legacy;
  return given !== undefined
    ? new BoundTransport(chosen, dialect, given.open(chosen, settings), http, extensions)
    : new HttpTransport(chosen, dialect, http, extensions);
}
