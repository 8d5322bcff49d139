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

/** Who needs a token: nobody at all, whoever asks for the extended card, or everybody. */
export type TokensFor = 'nothing' | 'extended-card' | 'everything';

export function conformanceAuth(tokensFor: TokensFor): Authenticator {
  switch (tokensFor) {
    case 'nothing':
      return new Authenticator({ verifiers: [] });
    case 'extended-card':
      // A card that declares a scheme has the suites try it on every operation.
      return new Authenticator({ verifiers: [{ ...tokens, schemes: {} }], allowAnonymous: true });
    case 'everything':
      return new Authenticator({ verifiers: [sufficientOnly] });
  }
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
