/**
 * The owner of everything that one caller keeps with one agent. The encoding is unambiguous, and
 * plain ASCII escapes stand for whatever a database could not keep apart (lone surrogates, NUL).
 * @example ownerKey({ agent: 'hello', tenant: '', subject: 'alice' }) // '["hello","","alice"]'
 */
export function ownerKey(parts: {
  readonly agent: string;
  readonly tenant: string;
  readonly subject: string;
}): string {
  return JSON.stringify([parts.agent, parts.tenant, parts.subject]);
}

/** One name for an owner's thing, unambiguous however owner and name are spelled. */
export function scoped(owner: string, name: string): string {
  return `${owner.length}:${owner}${name}`;
}
