import { type Client, connect, type ConnectOptions } from '../../../src/client/index.ts';
import { type AgentCard, isJsonObject, LegateError } from '../../../src/protocol/index.ts';
import { about } from '../api/about.ts';
import { allowAgent } from '../api/agent-fetch.ts';
import { textIn } from '../ui/text.ts';
import { ownCard, type Target } from './target.ts';

/**
 * Connects to the agent of a conversation, even if its card is invalid or missing: the wire view shows
 * the problems of the card.
 */
export async function connectTo(target: Target, options: ConnectOptions): Promise<Client> {
  const known = target.own === undefined ? undefined : ownCard(target.own);
  if (known !== undefined) return connect(known, options);
  await allowAgent(target.url);
  const named = about.peek()?.target;
  if (named?.url === target.url && named.card !== undefined) return connect(named.card, options);
  try {
    return await connect(target.url, options);
  } catch (error) {
    if (!(error instanceof LegateError) || error.code !== 'PEER_INVALID') throw error;
    return connect(await guessedCard(target.url, options), options);
  }
}

const noCard: Omit<AgentCard, 'supportedInterfaces'> = {
  name: 'Agent with an invalid card',
  description: '',
  version: '',
  capabilities: { streaming: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
};

/** Reads the name and the interfaces of an invalid card; by default JSON-RPC at the address. */
async function guessedCard(url: string, options: ConnectOptions): Promise<AgentCard> {
  const base = new URL(url);
  const address = base.pathname.endsWith('.json')
    ? url
    : new URL('/.well-known/agent-card.json', base).href;
  let json: unknown;
  try {
    json = await (await (options.fetch ?? fetch)(address)).json();
  } catch {
    // Without a card, the client calls the address itself.
  }
  const card = isJsonObject(json) ? json : {};
  const { name, url: legacy, supportedInterfaces } = card;
  const listed = Array.isArray(supportedInterfaces) ? supportedInterfaces.filter(isJsonObject) : [];
  const interfaces = listed.flatMap((one) =>
    typeof one['url'] === 'string'
      ? [
          {
            url: one['url'],
            protocolBinding: textIn(one['protocolBinding']) || 'JSONRPC',
            protocolVersion: textIn(one['protocolVersion']) || '1.0',
          },
        ]
      : [],
  );
  const older = typeof legacy === 'string' ? legacy : undefined;
  const fallback = {
    url: older ?? url,
    protocolBinding: 'JSONRPC',
    protocolVersion: older === undefined ? '1.0' : '0.3',
  };
  return {
    ...noCard,
    ...(typeof name === 'string' && { name }),
    supportedInterfaces: interfaces.length > 0 ? interfaces : [fallback],
  };
}
