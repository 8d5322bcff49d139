import { present } from '../../config/index.ts';
import type { AgentCard } from '../../protocol/index.ts';
import { refreshed } from './oauth.ts';
import type { Session } from './session.ts';
import { type StoredToken, TokenFile } from './token-file.ts';

/** Whether tokens of "legate auth login" apply to agents with this card. */
export function takesTokens(card: AgentCard): boolean {
  return Object.values(card.securitySchemes ?? {}).some(
    (scheme) => 'oauth2SecurityScheme' in scheme || 'openIdConnectSecurityScheme' in scheme,
  );
}

/** The stored token of an agent, refreshed if expired; undefined when there is none. */
export async function storedToken(
  origin: string,
  session: Pick<Session, 'fetch' | 'signal' | 'redactor' | 'warn'>,
): Promise<StoredToken | undefined> {
  const { fetch, signal, redactor } = session;
  const file = new TokenFile();
  const token = file.get(origin);
  if (token === undefined) return undefined;
  redactor.add(token.accessToken, token.refreshToken);
  if (token.expiresAt === undefined || token.expiresAt > Date.now()) return token;
  if (token.refreshToken === undefined) {
    session.warn('the token has expired; log in again: legate auth login');
    return undefined;
  }
  const { tokenUrl, clientId, secretPlace, refreshToken } = token;
  const clientSecret = process.env['A2ACLI_CLIENT_SECRET'];
  redactor.add(clientSecret);
  const renewed = await refreshed(
    {
      fetch,
      tokenUrl,
      clientId,
      ...present({ clientSecret, secretPlace }),
      scope: '',
      signal,
      now: Date.now,
      wait: () => Promise.resolve(),
    },
    refreshToken,
  );
  redactor.add(renewed.accessToken);
  file.set(origin, renewed);
  return renewed;
}
