import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { present } from '../../config/index.ts';
import { type AgentCard, isJsonObject, type JsonObject, parseJson } from '../../protocol/index.ts';
import { requestToken } from './oauth.ts';
import type { Session } from './session.ts';
import { settingsFolder } from './settings.ts';
import { isExposed } from './tls.ts';

const storedToken = z.object({
  accessToken: z.string(),
  /** Milliseconds since 1970; without it, the token is used until the agent refuses it. */
  expiresAt: z.number().optional().catch(undefined),
  refreshToken: z.string().optional().catch(undefined),
  tokenUrl: z.string(),
  clientId: z.string().catch(''),
  /** How to send the client secret. @default 'client_secret_basic' */
  authMethod: z.enum(['client_secret_basic', 'client_secret_post']).optional().catch(undefined),
});

/** A token for one agent, and the data to refresh it. */
export type StoredToken = Readonly<z.infer<typeof storedToken>>;

/** Tokens by origin of their agent, in a file that only its owner can read. */
export class TokenFile {
  readonly path = join(settingsFolder(), 'tokens.json');

  /** Whether other users can read or write the file: its tokens are then not used. */
  get isExposed(): boolean {
    return isExposed(this.path);
  }

  /** Undefined when the entry is not a token: users can edit the file. */
  get(origin: string): StoredToken | undefined {
    return this.isExposed ? undefined : storedToken.safeParse(this.#read()[origin]).data;
  }

  set(origin: string, token: StoredToken): void {
    this.#protect();
    this.#write({ ...this.#read(), [origin]: token });
  }

  /** Returns whether there was one. */
  delete(origin: string): boolean {
    this.#protect();
    const { [origin]: known, ...rest } = this.#read();
    if (known !== undefined) this.#write(rest);
    return known !== undefined;
  }

  #protect(): void {
    if (this.isExposed) chmodSync(this.path, 0o600);
  }

  #read(): JsonObject {
    if (!existsSync(this.path)) return {};
    try {
      const value = parseJson(readFileSync(this.path, 'utf8'));
      return isJsonObject(value) ? value : {};
    } catch {
      // A broken file counts as empty: the user logs in again.
      return {};
    }
  }

  #write(tokens: object): void {
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
    const temporary = `${this.path}.${process.pid}`;
    writeFileSync(temporary, `${JSON.stringify(tokens, undefined, 2)}\n`, { mode: 0o600 });
    renameSync(temporary, this.path);
  }
}

/** Whether tokens of "legate auth login" apply to agents with this card. */
export function takesTokens(card: AgentCard): boolean {
  return Object.values(card.securitySchemes ?? {}).some(
    (scheme) => 'oauth2SecurityScheme' in scheme || 'openIdConnectSecurityScheme' in scheme,
  );
}

/** The stored access token for an agent, refreshed if expired; undefined when there is none. */
export async function accessToken(origin: string, session: Session): Promise<string | undefined> {
  const { fetch, deadline: signal, redactor } = session;
  const file = new TokenFile();
  if (file.isExposed) {
    const { path } = file;
    session.warn(
      `ignored the tokens in ${path}, because other users can access it; run chmod 600 ${path}`,
    );
  }
  const token = file.get(origin);
  if (token === undefined) return undefined;
  const { refreshToken, expiresAt = Infinity, tokenUrl, clientId, authMethod } = token;
  redactor.add(token.accessToken, refreshToken);
  if (expiresAt > Date.now()) return token.accessToken;
  if (refreshToken === undefined) {
    session.warn('the token has expired; log in again: legate auth login');
    return undefined;
  }
  const clientSecret = process.env['A2ACLI_CLIENT_SECRET'];
  redactor.add(clientSecret);
  const refreshed = await requestToken(
    { fetch, tokenUrl, clientId, ...present({ clientSecret, authMethod }), signal },
    { grant_type: 'refresh_token', refresh_token: refreshToken },
  );
  redactor.add(refreshed.accessToken, refreshed.refreshToken);
  file.set(origin, { refreshToken, ...refreshed });
  return refreshed.accessToken;
}
