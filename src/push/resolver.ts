import { lookup } from 'node:dns/promises';
import type { ErrorCode } from '../protocol/index.ts';
import { addressKind, literalAddress } from './address.ts';
import { targetProblem, type UrlPolicy, UrlRefused } from './policy.ts';

/**
 * All addresses of a name. Rejects when there are none.
 * @example const resolver: Resolver = async () => ['203.0.113.7'];
 */
export type Resolver = (hostname: string) => Promise<readonly string[]>;

/**
 * Asks the operating system, so that hosts files and search domains count.
 * @example const addresses = await systemResolver('example.com');
 */
export const systemResolver: Resolver = async (hostname) => {
  const answers = await lookup(hostname, { all: true, verbatim: true });
  return answers.map((answer) => answer.address);
};

export interface ResolveOptions {
  readonly scheme: 'http' | 'https';
  readonly policy: UrlPolicy;
  readonly resolver: Resolver;
  /** Milliseconds. */
  readonly dnsTimeout: number;
  /** @default 'PEER_UNREACHABLE' */
  readonly code?: ErrorCode;
}

/**
 * The addresses of a host, all of them checked: one that is not allowed refuses the host, because
 * the owner of the name also controls the order of its answers.
 * @example await resolveChecked('example.com', { scheme: 'https', policy, resolver, dnsTimeout: 5_000 });
 */
export async function resolveChecked(
  host: string,
  options: ResolveOptions,
): Promise<readonly string[]> {
  const { scheme, policy, code = 'PEER_UNREACHABLE' } = options;
  const literal = literalAddress(host);
  const addresses =
    literal === undefined
      ? await withTimeout(options.resolver(host), options.dnsTimeout, host)
      : [literal];
  if (addresses.length === 0) throw new Error(`host ${host} has no address`);
  for (const address of addresses) {
    const problem = targetProblem(
      { scheme, host, kind: addressKind(address) ?? 'forbidden' },
      policy,
    );
    if (problem !== undefined) throw new UrlRefused(code, 'url', problem);
  }
  return addresses;
}

async function withTimeout<T>(work: Promise<T>, milliseconds: number, host: string): Promise<T> {
  const timeout = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => timeout.reject(new Error(`looking up ${host} took longer than ${milliseconds} ms`)),
    milliseconds,
  );
  try {
    return await Promise.race([work, timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
}
