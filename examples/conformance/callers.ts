import {
  Authenticator,
  AuthError,
  bearerTokenVerifier,
  type Verifier,
} from '../../src/auth/index.ts';

/**
 * The tokens that the suites send. They protect nothing: they only select a caller with all, some or no
 * permissions.
 */
const tokens = bearerTokenVerifier({
  tokens: [
    { token: 'itk-valid-token', subject: 'sufficient', scopes: ['conformance'] },
    { token: 'itk-insufficient-token', subject: 'insufficient' },
  ],
});

/** The scope for the extended card, and for all operations where a token is required. */
export const neededScopes = ['conformance'] as const;

/** The operations that require a token. */
export type TokensFor = 'extended-card' | 'everything';

/** The card declares the bearer scheme in both cases. */
export function conformanceAuth(tokensFor: TokensFor): Authenticator {
  return tokensFor === 'everything'
    ? new Authenticator({ verifiers: [sufficientOnly] })
    : new Authenticator({ verifiers: [tokens], allowAnonymous: true });
}

const sufficientOnly: Verifier = {
  ...tokens,
  async verify(request) {
    const caller = await tokens.verify(request);
    if (caller !== undefined && caller.scopes === undefined) {
      throw new AuthError('PERMISSION_DENIED', `this needs the scope ${neededScopes[0]}`, [
        'Bearer',
      ]);
    }
    return caller;
  },
};
