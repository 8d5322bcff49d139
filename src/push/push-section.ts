import { resolve } from 'node:path';
import type { Section } from '../config/index.ts';
import { FileSource, readConfiguredFile } from '../net/index.ts';
import { invalidConfiguration } from '../protocol/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { type BodySigner, bodySigner, readSigningKey, type SigningKey } from './body-signature.ts';
import type { UrlPolicy } from './policy.ts';
import { readUrlRules } from './url-rules.ts';

/**
 * Reads `push:` of a configuration: allowed webhook destinations and signing keys.
 * @example const { policy } = readPushSection(pushSection);
 */
export function readPushSection(section: Section) {
  const schemes: readonly ('http' | 'https')[] =
    section.boolean('https_only') === true ? ['https'] : ['http', 'https'];
  const policy: UrlPolicy = { schemes, ...readUrlRules(section) };
  const keys = section.get('signing_key')?.oneOrMore() ?? [];
  return {
    policy,
    /** Files of private keys; the first one signs. */
    signingKeys: keys.flatMap((field) => field.name() ?? []),
  };
}
/**
 * The parsed `push:` section.
 * @example const isSigned = ({ signingKeys }: PushSettings): boolean => signingKeys.length > 0;
 */
export type PushSettings = ReturnType<typeof readPushSection>;

/**
 * Signing keys from files, reloaded when they change. The first key signs. The public halves of all
 * keys are published.
 * @example const keys = signingKeyFiles(['hooks.pem'], { directory: '.', logger, what: 'push.signing_key' });
 */
export function signingKeyFiles(
  files: readonly string[],
  {
    directory,
    logger,
    what,
  }: { readonly directory: string; readonly logger: Logger; readonly what: string },
): FileSource<readonly [SigningKey, ...SigningKey[]]> {
  const paths = files.map((file) => resolve(directory, file));
  return new FileSource({
    what,
    paths,
    logger,
    load: () => {
      const [first, ...others] = paths.map((path) => readKeyOf(path, what));
      if (first === undefined) throw invalidConfiguration(`${what}: no file`);
      return [first, ...others];
    },
  });
}

function readKeyOf(path: string, what: string): SigningKey {
  const text = readConfiguredFile(path, `${what}: the file`);
  try {
    return readSigningKey(text);
  } catch (cause) {
    throw invalidConfiguration(
      `${what}: ${path} is not a private key in PEM or JWK; make one with "legate bus key"`,
      cause,
    );
  }
}

/**
 * Signs webhook calls with keys that rotate.
 * @example const push = { signer: rotatingSigner(signingKeyFiles(files, { directory, logger, what })) };
 */
export function rotatingSigner(
  keys: FileSource<readonly [SigningKey, ...SigningKey[]]>,
): BodySigner {
  return {
    sign: async (body, facts) => bodySigner(await keys.current()).sign(body, facts),
    // Receivers can ask this replica for a key with which another replica already signs.
    jwks: async () => bodySigner(await keys.current()).jwks(),
  };
}
