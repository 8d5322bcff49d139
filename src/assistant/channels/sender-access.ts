import { z } from 'zod';
import type { Caller } from '../../agents/index.ts';
import { AuthError } from '../../auth/index.ts';
import { invalidConfiguration, type JsonObject, type LegateError } from '../../protocol/index.ts';

const schema = z.looseObject({
  auth: z.boolean().default(false),
  senders: z.record(z.string(), z.union([z.string(), z.array(z.string().min(1))])).default({}),
});

/**
 * Decides which senders of a channel a caller may use. By default the sender is the caller's own subject.
 * `senders` lists further senders by subject: names, prefixes such as `kiosk-*`, or `*` for a frontend that
 * sends messages for all of its users.
 */
export class SenderAccess {
  readonly #senders: ReadonlyMap<string, readonly string[]>;

  constructor(senders: Readonly<Record<string, string | readonly string[]>>) {
    this.#senders = new Map(
      Object.entries(senders).map(([subject, names]) => [
        subject,
        typeof names === 'string' ? [names] : names,
      ]),
    );
  }

  /**
   * The sender of a request. `requested` is undefined if the request names none. Throws `AuthError` (403)
   * if the caller may not use the requested sender.
   */
  senderOf(caller: Caller, requested: string | undefined): string {
    const own = ownSender(caller);
    const isOwn = caller.tenant === '' && requested === caller.subject;
    if (requested === undefined || requested === own || isOwn) return own;
    const isListed = this.#senders
      .get(caller.subject)
      ?.some((name) =>
        name.endsWith('*') ? requested.startsWith(name.slice(0, -1)) : requested === name,
      );
    // The list applies to callers without a tenant only: subjects of tenants can have the same names.
    if (isListed === true && caller.tenant === '') return requested;
    throw new AuthError(
      'PERMISSION_DENIED',
      'the caller may not speak as this sender; list it below rest.senders of credentials.yml',
      [],
      [`sender ${JSON.stringify(requested.slice(0, 100))}`],
    );
  }
}

/**
 * The caller's own sender: `tenant/subject`, or the subject of a caller without a tenant. Slashes within
 * either are encoded, so that no two callers have the same sender.
 */
export function ownSender({ tenant, subject }: Caller): string {
  const name = encoded(subject);
  return tenant === '' ? name : `${encoded(tenant)}/${name}`;
}

function encoded(part: string): string {
  return part.replace(/[%/]/g, encodeURIComponent);
}

/** Reads `rest:` of credentials.yml. Undefined if the channel is not authenticated. */
export function readSenderAccess(
  settings: JsonObject | undefined,
  isAuthenticated: boolean,
): SenderAccess | undefined {
  const parsed = schema.safeParse(settings ?? {});
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw invalid(`rest.${issue?.path.join('.')}: ${issue?.message}`);
  }
  const { auth, senders } = parsed.data;
  if (!auth) {
    if (Object.keys(senders).length === 0) return undefined;
    throw invalid('rest.senders needs rest.auth: true, so that senders authenticate');
  }
  if (isAuthenticated) return new SenderAccess(senders);
  throw invalid(
    'rest.auth: true requires authentication; configure a2a_server.auth in endpoints.yml',
  );
}

function invalid(what: string): LegateError {
  return invalidConfiguration(`credentials.yml: ${what}`);
}
