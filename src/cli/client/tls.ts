import { createPrivateKey } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';
import { createSecureContext } from 'node:tls';
import { present } from '../../config/index.ts';
import { usage } from '../usage.ts';

/** Certificates and keys for TLS connections, in PEM. */
export interface TlsMaterial {
  /** The client certificate, for agents that request one. */
  readonly certificate?: string;
  readonly key?: string;
  /** Certificate authorities to trust instead of those of Node. */
  readonly ca?: string;
}

/** Paths of the files. */
export interface TlsFiles {
  readonly cert?: string | undefined;
  /** @default the file of the certificate */
  readonly key?: string | undefined;
  readonly ca?: string | undefined;
  /** The passphrase of an encrypted key. */
  readonly passphrase?: string | undefined;
}

const maxFileBytes = 1024 * 1024;

/** Reads certificates and keys, and rejects unusable ones; undefined when none are given. */
export function readTls({ cert, key, ca, passphrase }: TlsFiles): TlsMaterial | undefined {
  if (cert === undefined && key !== undefined) {
    throw usage('--key needs a certificate: give it with --cert');
  }
  if (cert === undefined && ca === undefined) return undefined;
  const material = present({
    certificate: cert === undefined ? undefined : readPem(cert, '--cert'),
    key: cert === undefined ? undefined : readKey(key ?? cert, passphrase),
    ca: ca === undefined ? undefined : readPem(ca, '--ca'),
  });
  try {
    createSecureContext({ cert: material.certificate, key: material.key, ca: material.ca });
  } catch (error) {
    throw usage(
      `the certificate, its key or the authority is invalid: ${reasonOf(error)}; they must be PEM files, and the key must match the certificate`,
    );
  }
  return material;
}

/** Whether other users can read a file. */
export function isExposed(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && (found.mode & 0o077) !== 0;
}

function readPem(path: string, flag: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isFile() !== true) throw usage(`${flag}: there is no file ${path}`);
  if (found.size > maxFileBytes) throw usage(`${flag}: ${path} is too large for certificates`);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw usage(`${flag}: ${path} cannot be read: ${reasonOf(error)}`);
  }
  if (text.includes('-----BEGIN ')) return text;
  throw usage(`${flag}: ${path} is not a PEM file`);
}

/** Decrypts the key: not every API that takes a key takes a passphrase. */
function readKey(path: string, passphrase: string | undefined): string {
  const text = readPem(path, '--key');
  const [pem] =
    /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----[^]*?-----END [A-Z ]+-----/.exec(text) ?? [];
  if (pem === undefined) throw usage(`--key: ${path} contains no private key`);
  try {
    const key = createPrivateKey({ key: pem, ...present({ passphrase }) });
    return key.export({ type: 'pkcs8', format: 'pem' }).toString();
  } catch {
    throw usage(
      `--key: the private key of ${path} cannot be read; for an encrypted key set A2ACLI_KEY_PASSPHRASE`,
    );
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown failure';
}

/**
 * A `fetch` with a client certificate and custom certificate authorities, which Node's own does not
 * support. Redirects are returned, or refused with `redirect: 'error'`.
 */
export function tlsFetch({ certificate, key, ca }: TlsMaterial): typeof fetch {
  const agent = new Agent({ keepAlive: true, cert: certificate, key, ca });
  return async (input, init = {}) => {
    // Request normalizes every kind of body and header that fetch takes.
    const request = new Request(input, { ...init, signal: null });
    if (!request.url.startsWith('https:')) return globalThis.fetch(input, init);
    const body = request.body === null ? undefined : Buffer.from(await request.arrayBuffer());
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = httpsRequest(request.url, {
        agent,
        method: request.method,
        headers: {
          // Compressed bodies are not decoded here.
          'accept-encoding': 'identity',
          ...Object.fromEntries(request.headers),
          ...(body !== undefined && { 'content-length': String(body.length) }),
        },
        ...present({ signal: init.signal ?? undefined }),
      });
      outgoing.once('response', resolve).once('error', reject).end(body);
    });
    return responseOf(answer, init.redirect);
  };
}

function responseOf(answer: IncomingMessage, redirect: RequestInit['redirect']): Response {
  const { statusCode: status = 0, statusMessage: statusText = '', headersDistinct } = answer;
  if (redirect === 'error' && status >= 300 && status < 400 && status !== 304) {
    answer.destroy();
    throw new TypeError(`answered ${status}; redirects are not followed`);
  }
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(headersDistinct)) {
    for (const value of values) headers.append(name, value);
  }
  if (status === 204 || status === 205 || status === 304) {
    answer.resume();
    return new Response(null, { status, statusText, headers });
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one class, typed differently by Node and the DOM
  const body = Readable.toWeb(answer) as ReadableStream<Uint8Array>;
  return new Response(body, { status, statusText, headers });
}
