import type { Auth, ClientOptions } from '../../../src/client/index.ts';
import type { AgentCard } from '../../../src/protocol/index.ts';
import { agentAddress, ownAgent } from '../api/about.ts';
import { type Pair, pairsObject } from '../ui/text.ts';

/** The agent of a conversation, and how to call it. Secrets are kept only while the page is open. */
export interface Target {
  /** The name of one of the server's own agents; undefined for a remote agent. */
  readonly own: string | undefined;
  readonly url: string;
  readonly version: 'auto' | '1.0' | '0.3';
  readonly binding: 'auto' | 'JSONRPC' | 'HTTP+JSON' | 'GRPC';
  readonly auth: 'none' | 'bearer' | 'basic' | 'api-key';
  readonly secret: string;
  readonly user: string;
  readonly keyName: string;
  readonly keyLocation: 'header' | 'query';
  readonly headers: readonly Pair[];
  readonly extensions: string;
}

export function ownTarget(name: string): Target {
  return { ...plain, own: name };
}

export function foreignTarget(url: string): Target {
  return { ...plain, url };
}

const plain: Target = {
  own: undefined,
  url: '',
  version: 'auto',
  binding: 'auto',
  auth: 'none',
  secret: '',
  user: '',
  keyName: 'X-API-Key',
  keyLocation: 'header',
  headers: [],
  extensions: '',
};

/** The options for the client. */
export function clientOptions(target: Target): ClientOptions {
  const auth = target.own === undefined ? authOf(target) : undefined;
  const extensions = target.extensions.split(/[\s,]+/).filter((uri) => uri !== '');
  return {
    ...(auth !== undefined && { auth }),
    ...(target.version !== 'auto' && { version: target.version }),
    ...(target.binding !== 'auto' && { binding: target.binding }),
    headers: pairsObject(target.headers),
    extensions,
  };
}

function authOf({ auth, secret, user, keyName, keyLocation }: Target): Auth | undefined {
  switch (auth) {
    case 'none':
      return undefined;
    case 'bearer':
      return { bearer: secret };
    case 'basic': {
      const bytes = new TextEncoder().encode(`${user}:${secret}`);
      const value = btoa(String.fromCodePoint(...bytes));
      return { headers: () => ({ Authorization: `Basic ${value}` }) };
    }
    case 'api-key':
      return { apiKey: { name: keyName, location: keyLocation, value: secret } };
  }
}

/** Secrets to redact everywhere. */
export function secretsOf({ secret }: Target): readonly string[] {
  return secret.length >= 4 ? [secret, encodeURIComponent(secret)] : [];
}

/**
 * The card of one of the server's own agents, with the inspector's endpoint in place of the public ones.
 */
export function ownCard(name: string): AgentCard | undefined {
  const card = ownAgent(name)?.card;
  if (card === undefined) return undefined;
  const url = agentAddress(name);
  const { signatures: _signatures, ...rest } = card;
  return {
    ...rest,
    supportedInterfaces: (['1.0', '0.3'] as const).flatMap((protocolVersion) => [
      { url, protocolBinding: 'JSONRPC', protocolVersion },
      { url, protocolBinding: 'HTTP+JSON', protocolVersion },
    ]),
  };
}
