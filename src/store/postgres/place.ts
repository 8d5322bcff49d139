import type { ConnectionOptions } from 'node:tls';
import type { ClientConfig } from 'pg';
import { LegateError } from '../../protocol/index.ts';

/** Where a database is, and how to speak with it. */
export interface Place {
  /** Host, port and database: for people, without a secret. */
  readonly name: string;
  readonly client: ClientConfig;
}

export interface PlaceOptions {
  /** `postgres://user:password@host:port/database`, with the parameters of libpq. */
  readonly url: string;
  /** TLS; the url's `sslmode` decides where this is unset. */
  readonly ssl?: boolean | ConnectionOptions;
  /** How long a connection may take to be made, in milliseconds. @default 5_000 */
  readonly connectTimeoutMs?: number;
}

export function placeOf(options: PlaceOptions, settings: ClientConfig = {}): Place {
  const url = URL.parse(options.url);
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol)) {
    throw new LegateError(
      'CONFIGURATION_INVALID',
      'store.url: must be an address like postgres://user:password@host:5432/database',
    );
  }
  const host = url.hostname || url.searchParams.get('host') || 'localhost';
  return {
    name: `${host}:${url.port || '5432'}${url.pathname}`,
    client: {
      connectionString: options.url,
      fallback_application_name: 'legate',
      connectionTimeoutMillis: options.connectTimeoutMs ?? 5_000,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      ...(options.ssl !== undefined && { ssl: options.ssl }),
      ...settings,
    },
  };
}
