import { SignJWT } from 'jose';
import { Authenticator, jwtVerifier } from '../../../src/auth/index.ts';

/** Signs the tokens. */
export const tokenSecret = 'a secret of sixty-four characters, which is as long as HS512 wants';

/** A token that says who its bearer is. */
export async function tokenOf(claims: {
  readonly sub: string;
  readonly tenant?: string;
  readonly scope?: string;
}): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(tokenSecret));
}

export async function bearer(claims: Parameters<typeof tokenOf>[0]): Promise<{
  readonly authorization: string;
}> {
  return { authorization: `Bearer ${await tokenOf(claims)}` };
}

/** Takes tokens of `tokenOf`; `tenants` makes the claim that names the tenant a duty. */
export async function tokenAuthenticator(
  options: { readonly tenants?: boolean } = {},
): Promise<Authenticator> {
  return new Authenticator({
    verifiers: [
      await jwtVerifier({
        keys: { secret: tokenSecret },
        algorithms: ['HS256'],
        ...(options.tenants === true && { tenantClaim: 'tenant' }),
      }),
    ],
  });
}
