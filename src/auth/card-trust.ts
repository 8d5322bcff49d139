import { resolve } from 'node:path';
import type { CardTrust } from '../config/index.ts';
import { invalidConfiguration, type JsonObject, LegateError } from '../protocol/index.ts';
import { defaultLogger, type Logger } from '../telemetry/index.ts';
import { verifyCardBy } from './card-signature.ts';
import { publicKeySource } from './key-source.ts';

/**
 * Where the key files are, and which peer the card belongs to.
 * @example const options: CardVerifierOptions = { what: 'sub agent hotels', directory: project.directory };
 */
export interface CardVerifierOptions {
  /** Name of the peer in errors and logs. @default none */
  readonly what?: string;
  /** Relative paths start here. @default the working directory */
  readonly directory?: string;
  readonly logger?: Logger;
}

/**
 * Verifies cards with rotating keys; for the option `verifyCard` of clients and of `remoteAgent`. Throws
 * `CONFIGURATION_INVALID` for keys that can't be used; the function rejects with `PEER_INVALID` for a
 * card that none of the keys signed.
 * @example const hotels = remoteAgent(url, { verifyCard: cardVerifier({ keys: ['hotels.pem'] }) });
 */
export function cardVerifier(
  { keys = [], jwksUrl, ...access }: CardTrust,
  { what, directory = '.', logger = defaultLogger }: CardVerifierOptions = {},
): (card: unknown) => Promise<JsonObject> {
  const prefix = what === undefined ? '' : `${what}: `;
  if (keys.length === 0 && jwksUrl === undefined) {
    throw invalidConfiguration(`${prefix}verify_card names no key`);
  }
  const source = publicKeySource(
    { keys, jwksUrl, ...access },
    {
      what: what === undefined ? 'card keys' : `card keys of ${what}`,
      settings: {
        keys: `${prefix}verify_card.keys`,
        jwksUrl: `${prefix}verify_card.jwks_url`,
        openIdIssuer: '',
      },
      directory,
      logger,
    },
  );
  return async (card) => {
    const lookups = await source.lookups();
    const { card: verified } = await verifyCardBy(card, lookups).catch((error: unknown) => {
      if (!(error instanceof LegateError) || error.code !== 'PEER_INVALID') throw error;
      const paths = keys.map((path) => resolve(directory, path));
      const accepted = [...paths, ...(jwksUrl === undefined ? [] : [jwksUrl])].join(', ');
      throw new LegateError(
        'PEER_INVALID',
        `${prefix}${error.message}; verify_card accepts cards signed by a key of ${accepted}`,
        { cause: error },
      );
    });
    return verified;
  };
}
