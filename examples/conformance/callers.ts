import {
  Authenticator,
  AuthError,
  bearerTokenVerifier,
  type Verifier,
} from '../../src/auth/index.ts';

/**
 * The tokens that the suites present. They prove nothing and guard nothing: they are here to see
 * what a caller with, with too little and without authority is told.
 */
const tokens = bearerTokenVerifier({
  tokens: [
    { token: 'itk-valid-token', subject: 'sufficient', scopes: ['conformance'] },
    { token: 'itk-insufficient-token', subject: 'insufficient' },
  ],
});

/** What a caller needs to see the extended card, and for everything where a token is required. */
export const neededScopes = ['conformance'] as const;

/** What a token is needed for. */
export type TokensFor = 'extended-card' | 'everything';

/** Either way the card declares the bearer scheme. */
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
