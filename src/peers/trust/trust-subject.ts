import type { Caller } from '../../agents/index.ts';
import { LegateError } from '../../protocol/index.ts';
import { foldName } from '../directory/fold-name.ts';

/**
 * What a caller may do, in ascending order; each level includes the lower ones.
 *
 * - **observe**: its requests are summarised and noted for the user; nothing is done.
 * - **learn**: its messages may be stored as facts.
 * - **propose**: its requests are proposed to the user, and carried out when the user approves.
 * - **act**: skills that are approved for it are carried out at once.
 * @example trustLevels.indexOf(level) >= trustLevels.indexOf('propose');
 */
export const trustLevels = ['observe', 'learn', 'propose', 'act'] as const;
/**
 * The trust level of a subject: observe, learn, propose, act.
 * @example const level: TrustLevel = await ledger.level(readTrustName('jwt:acme:alice'));
 */
export type TrustLevel = (typeof trustLevels)[number];

export function isAtLeast(level: TrustLevel, wanted: TrustLevel): boolean {
  return trustLevels.indexOf(level) >= trustLevels.indexOf(wanted);
}

/**
 * The subject of trust: an identity together with how it was established. The same name proved in
 * two ways, or claimed and proved, is two subjects. Peers that we call have the method `peer`.
 * @example const subject: TrustSubject = { method: 'jwt', tenant: '', subject: 'alice' };
 */
export type TrustSubject = Pick<Caller, 'method' | 'tenant' | 'subject'>;

const unproved: ReadonlySet<string> = new Set(['anonymous', 'self-asserted']);

/** Whether an identity is authenticated; other subjects are never more than observers. */
export function isProved({ method, subject }: TrustSubject): boolean {
  return subject !== '' && !unproved.has(method);
}

/**
 * A peer that we call, as a subject of trust.
 * @example peerSubject('Calendar') // { method: 'peer', tenant: '', subject: 'calendar' }
 */
export function peerSubject(name: string): TrustSubject {
  return { method: 'peer', tenant: '', subject: foldName(name) };
}

/** @example trustName({ method: 'jwt', tenant: 'acme', subject: 'alice' }) // 'jwt:acme:alice' */
export function trustName({ method, tenant, subject }: TrustSubject): string {
  return `${method}:${tenant}:${subject}`;
}

/**
 * Reads the name of a subject: `method:tenant:subject`, or `method:subject` without a tenant.
 * @example readTrustName('message-token:gateway/alice')
 */
export function readTrustName(name: string): TrustSubject {
  const [method = '', tenant = '', ...rest] = name.split(':');
  const made =
    rest.length === 0
      ? { method, tenant: '', subject: tenant }
      : { method, tenant, subject: rest.join(':') };
  if (method !== '' && made.subject !== '') {
    return method === 'peer' ? peerSubject(made.subject) : made;
  }
  throw new LegateError(
    'INVALID_PARAMS',
    `invalid trust subject "${name}": use method:subject or method:tenant:subject, as in message-token:alice, jwt:acme:bob or peer:calendar`,
  );
}
