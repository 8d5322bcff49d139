import type { SecurityScheme } from '../protocol/index.ts';
import type { AuthRequest } from './auth-request.ts';
import type { Verifier } from './verifier.ts';

/** Where in a request a credential travels. Names of headers are in lower case. */
interface Carrier {
  readonly location: 'header' | 'query' | 'cookie';
  readonly name: string;
}

const authorization: Carrier = { location: 'header', name: 'authorization' };

/**
 * Finds out which credentials a request carries, and so which verifiers are asked. A request has one
 * credential at most: with the token of one caller and the key of another, the order of verifiers would
 * decide who is meant. `Authorization` counts whatever its scheme.
 *
 * A client certificate belongs to the connection, not to the request: gateways and service meshes
 * present one for every caller. It says who calls where the request itself carries no credential, and
 * never stands in for one that is wrong.
 */
export class PresentedCredentials {
  readonly #carriers: ReadonlyMap<string, Carrier>;
  readonly #verifiers: readonly {
    readonly verifier: Verifier;
    readonly reads: ReadonlySet<string>;
  }[];

  constructor(verifiers: readonly Verifier[]) {
    const carriers = new Map([[keyOf(authorization), authorization]]);
    this.#verifiers = verifiers.map((verifier) => {
      const reads = Object.values(verifier.schemes).flatMap(carrierOf);
      for (const carrier of reads) carriers.set(keyOf(carrier), carrier);
      return { verifier, reads: new Set(reads.map(keyOf)) };
    });
    this.#carriers = carriers;
  }

  /** The places of credentials in the request, one entry for each credential. */
  found(request: AuthRequest): readonly string[] {
    const found: string[] = [];
    for (const [key, carrier] of this.#carriers) {
      for (let count = countOf(carrier, request); count > 0; count -= 1) found.push(key);
    }
    return found;
  }

  /** The verifiers to ask about a request with this credential, or with none. */
  verifiersFor(found: string | undefined): readonly Verifier[] {
    const isRead = (key: string): boolean => this.#verifiers.some(({ reads }) => reads.has(key));
    const asked =
      found === undefined || !isRead(found)
        ? this.#verifiers
        : // A verifier that declares nothing may read anything.
          this.#verifiers.filter(
            ({ verifier, reads }) => reads.has(found) || Object.keys(verifier.schemes).length === 0,
          );
    return asked.map(({ verifier }) => verifier);
  }
}

function keyOf({ location, name }: Carrier): string {
  return `${location} ${name}`;
}

function carrierOf(scheme: SecurityScheme): readonly Carrier[] {
  if ('mtlsSecurityScheme' in scheme) return [];
  if (!('apiKeySecurityScheme' in scheme)) return [authorization];
  const { location, name } = scheme.apiKeySecurityScheme;
  return [{ location, name: location === 'header' ? name.toLowerCase() : name }];
}

function countOf({ location, name }: Carrier, { headers, query }: AuthRequest): number {
  if (location === 'query') return query?.getAll(name).length ?? 0;
  if (location === 'header') return valuesOf(headers[name]).length;
  const pairs = valuesOf(headers['cookie']).flatMap((line) => line.split(';'));
  return pairs.filter((pair) => pair.split('=', 1)[0]?.trim() === name).length;
}

function valuesOf(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  return typeof value === 'string' ? [value] : value;
}
