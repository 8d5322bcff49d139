import type { Caller } from '../../src/agents/index.ts';
import { Authenticator, AuthError, type Verifier } from '../../src/auth/index.ts';

/**
 * The tokens that the suites present. They prove nothing and guard nothing: they are here to see
 * what a caller with, with too little and without authority is told.
 */
const sufficientToken = 'itk-valid-token';
const insufficientToken = 'itk-insufficient-token';

const scope = 'conformance';

/** Tells the tokens apart. The card declares them where they are required. */
export function conformanceAuth(options: { readonly requiresToken: boolean }): Authenticator {
  const verifier: Verifier = {
    method: 'bearer',
    challenge: 'Bearer',
    schemes: options.requiresToken
      ? { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } }
      : {},
    async verify({ headers }) {
      const token = /^Bearer +(\S+)$/i.exec(String(headers.authorization ?? ''))?.[1];
      if (token !== sufficientToken && token !== insufficientToken) return undefined;
      if (options.requiresToken && token === insufficientToken) {
        throw new AuthError('PERMISSION_DENIED', `this needs the scope ${scope}`, ['Bearer']);
      }
      // Whoever asks has the same tasks: a suite may present a token in one step and none in the next.
      return {
        tenant: '',
        subject: '',
        method: 'bearer',
        scopes: token === sufficientToken ? [scope] : [],
      };
    },
  };
  return new Authenticator({ verifiers: [verifier], allowAnonymous: !options.requiresToken });
}

/** Lets the sufficient token pass and tells the others why not. */
export function requireAuthority(auth: Authenticator, caller: Caller): void {
  if (caller.method === 'anonymous') {
    throw new AuthError(
      'UNAUTHENTICATED',
      `authentication is required: present the bearer token ${sufficientToken}`,
      auth.challenges(),
    );
  }
  auth.requireScopes(caller, [scope]);
}
