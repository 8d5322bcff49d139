import type { HeaderProvider } from '../client/index.ts';
import { LegateError } from '../protocol/index.ts';
import { TokenSource } from './token-source.ts';

/** How we show who we are to a server that we call. */
export type Authentication =
  | {
      readonly kind: 'api_key';
      readonly key: string;
      /** @default 'Authorization' */
      readonly headerName?: string;
      /** With `{key}` in it. @default 'Bearer {key}' */
      readonly headerFormat?: string;
    }
  | { readonly kind: 'token'; readonly token: string }
  /** Client credentials. */
  | {
      readonly kind: 'oauth';
      readonly clientId: string;
      readonly clientSecret: string;
      readonly tokenUrl: string;
      readonly scope?: string | undefined;
      readonly audience?: string | undefined;
      /** Seconds for a request for a token. @default 10 */
      readonly timeout?: number | undefined;
    };

export interface AuthenticationOptions {
  /** @default globalThis.fetch */
  readonly fetch?: typeof globalThis.fetch;
  /** @default Date */
  readonly clock?: { now(): number };
}

/**
 * Headers that show who we are. Tokens are fetched once and kept until shortly before they expire,
 * or until they are refused. Whoever sends the headers sees to it that the wire is safe.
 */
export function authenticationHeaders(
  authentication: Authentication,
  options: AuthenticationOptions = {},
): HeaderProvider {
  switch (authentication.kind) {
    case 'api_key': {
      const { key, headerName = 'Authorization', headerFormat = 'Bearer {key}' } = authentication;
      if (!headerFormat.includes('{key}')) {
        throw new LegateError(
          'CONFIGURATION_INVALID',
          'the format of an API key header must say where the key goes, with {key}',
        );
      }
      const headers = { [headerName]: headerFormat.replaceAll('{key}', () => key) };
      return () => headers;
    }
    case 'token': {
      const headers = { Authorization: `Bearer ${authentication.token}` };
      return () => headers;
    }
    case 'oauth': {
      const source = new TokenSource(authentication, options);
      return async ({ isRejected }) => ({
        Authorization: `Bearer ${await source.token({ isRejected })}`,
      });
    }
  }
}
