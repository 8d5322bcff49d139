import { type AuthSettings, openAuth } from '../../auth/index.ts';
import { readBusIdentity } from '../../bus/index.ts';
import { isJsonObject, type JsonObject, LegateError } from '../../protocol/index.ts';
import { signingKeyFiles } from '../../push/index.ts';
import { silentLogger } from '../../telemetry/index.ts';
import { within } from '../../time/index.ts';
import type { Endpoints } from '../endpoints.ts';
import {
  type Diagnosis,
  failed,
  passed,
  reasonOf,
  skipped,
  timeLimit,
  warning,
} from './diagnosis.ts';

/** The folder of the files, and the flags of the server. */
interface KeyOptions {
  readonly directory: string;
  /** Whether the server requests client certificates: `--ssl-ca-file`. */
  readonly hasClientCertificates: boolean;
}

/** Reads or fetches the keys that verify callers, and reads the keys that sign cards and webhooks. */
export async function* examineKeys(
  { server, push }: Pick<Endpoints, 'server' | 'push'>,
  options: KeyOptions,
): AsyncGenerator<Diagnosis> {
  yield await examineAuth(server?.auth, options);
  const { jwt } = server?.auth ?? {};
  if (jwt !== undefined && jwt.audience === undefined) {
    yield warning(
      'Audience of tokens',
      'tokens that the issuer made for other services are accepted',
      'set a2a_server.auth.jwt.audience to the name of this service, and have the issuer put it in "aud"',
    );
  }
  const signing = [
    ['a2a_server.card_signing_key', server?.cardSigningKeys ?? []],
    ['push.signing_key', push?.signingKeys ?? []],
  ] as const;
  const { directory } = options;
  for (const [what, files] of signing) {
    if (files.length === 0) continue;
    const read = () => signingKeyFiles(files, { directory, logger: silentLogger, what }).last;
    yield await readable('Signing keys', what, read);
  }
}

/** Reads or fetches the keys that sign and verify messages on the bus. */
export async function* examineBusKeys({
  bus = {},
  directory,
}: Pick<Endpoints, 'bus' | 'directory'>): AsyncGenerator<Diagnosis> {
  const { signing_key: own, trusted } = bus;
  if (own === undefined && trusted === undefined) return;
  const setting =
    trusted === undefined ? 'bus.signing_key' : own === undefined ? 'bus.trusted' : 'bus';
  yield await readable('Keys of the bus', setting, async () => {
    const issuer = 'legate-doctor';
    const { verifier } = await readBusIdentity(bus, { directory, issuer, logger: silentLogger });
    const message = { topic: '', body: '', correlationId: undefined, replyTo: undefined };
    for (const sender of Array.isArray(trusted) ? trusted.filter(isJsonObject) : []) {
      if (sender['jwks_url'] === undefined && sender['openid_issuer'] === undefined) continue;
      const token = unsigned('ES256', { iss: sender['issuer'] ?? '' });
      await fetched(async () => verifier?.verify(token, message));
    }
  });
}

async function examineAuth(
  auth: AuthSettings | undefined,
  options: KeyOptions,
): Promise<Diagnosis> {
  const what = 'Keys of callers';
  const setting = 'a2a_server.auth';
  if (auth === undefined) return skipped(what, `no ${setting} is configured`);
  if (auth.require?.includes('mtls') === true && !options.hasClientCertificates) {
    return failed(
      what,
      `${setting}.require has mtls, and without --ssl-ca-file the server asks for no client certificate`,
      'name the authorities of client certificates: --ssl-ca-file, here and with "legate run"',
    );
  }
  return readable(what, setting, async () => {
    await openAuth(auth, { ...options, logger: silentLogger });
    await fetchKeys(auth, options);
  });
}

/** A token with an invalid signature. Verifying it fetches the keys. */
const unsigned = (algorithm: string, claims: JsonObject = {}): string => {
  const header = { alg: algorithm, kid: 'legate-doctor' };
  const parts = [header, { sub: 'legate-doctor', ...claims }].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  return [...parts, 'AA'].join('.');
};

/** Throws if keys are configured by URL and can't be fetched. */
async function fetchKeys({ jwt }: AuthSettings, options: KeyOptions): Promise<void> {
  const { keys, algorithms = [] } = jwt ?? {};
  if (keys === undefined || !('jwksUrl' in keys || 'openIdIssuer' in keys)) return;
  const verifier = await openAuth({ jwt }, { ...options, logger: silentLogger });
  const token = unsigned(algorithms[0] ?? 'RS256');
  await fetched(async () =>
    verifier?.authenticate({ headers: { authorization: `Bearer ${token}` } }),
  );
}

/** Throws if the keys to verify a token can't be fetched. */
async function fetched(verify: () => Promise<unknown>): Promise<void> {
  try {
    await within(timeLimit, verify);
  } catch (error) {
    // The token was refused as expected: the keys were fetched.
    if (error instanceof LegateError && error.code === 'UNAUTHENTICATED') return;
    // The cause names the URL of the keys, which the error for callers omits.
    throw error instanceof LegateError && error.cause instanceof LegateError ? error.cause : error;
  }
}

async function readable(what: string, setting: string, read: () => unknown): Promise<Diagnosis> {
  try {
    await read();
    return passed(what, `${setting} is usable`);
  } catch (error) {
    const fix = `fix ${setting} in endpoints.yml, or the file or server it names`;
    return failed(what, reasonOf(error), fix);
  }
}
