import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isJsonObject, type JsonValue, parseJson } from '../../protocol/index.ts';
import { settingsFolder } from './settings.ts';

/** A token for one agent, and the data to refresh it. */
export interface StoredToken {
  readonly accessToken: string;
  /** Milliseconds since 1970; without it, the token is used until it is refused. */
  readonly expiresAt?: number;
  readonly refreshToken?: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  /** How to send the client secret. @default 'basic' */
  readonly secretPlace?: 'basic' | 'post';
}

/** Tokens by origin of their agent, in a file that only its owner can read. */
export class TokenFile {
  readonly path = join(settingsFolder(), 'tokens.json');

  /** Undefined when the entry is not a token: users may edit the file. */
  get(origin: string): StoredToken | undefined {
    const stored = this.#read()[origin];
    if (!isJsonObject(stored)) return undefined;
    const { accessToken, tokenUrl, clientId, expiresAt, refreshToken, secretPlace } = stored;
    if (typeof accessToken !== 'string' || typeof tokenUrl !== 'string') return undefined;
    return {
      accessToken,
      tokenUrl,
      clientId: typeof clientId === 'string' ? clientId : '',
      ...(typeof expiresAt === 'number' && { expiresAt }),
      ...(typeof refreshToken === 'string' && { refreshToken }),
      ...((secretPlace === 'basic' || secretPlace === 'post') && { secretPlace }),
    };
  }

  set(origin: string, token: StoredToken): void {
    this.#write({ ...this.#read(), [origin]: token });
  }

  /** Returns whether there was one. */
  delete(origin: string): boolean {
    const { [origin]: known, ...rest } = this.#read();
    if (known !== undefined) this.#write(rest);
    return known !== undefined;
  }

  /** Ignores a file that other users can read or write. */
  #read(): Readonly<Record<string, JsonValue | undefined>> {
    const found = statSync(this.path, { throwIfNoEntry: false });
    if (found === undefined || (found.mode & 0o077) !== 0) return {};
    try {
      const value = parseJson(readFileSync(this.path, 'utf8'));
      return isJsonObject(value) ? value : {};
    } catch {
      // A broken file counts as empty: the user logs in again.
      return {};
    }
  }

  #write(tokens: Readonly<Record<string, unknown>>): void {
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
    const draft = `${this.path}.${process.pid}`;
    writeFileSync(draft, `${JSON.stringify(tokens, undefined, 2)}\n`, { mode: 0o600 });
    renameSync(draft, this.path);
  }
}
