/** One name for an owner's thing, unambiguous however owner and name are spelled. */
export function scoped(owner: string, name: string): string {
  return `${owner.length}:${owner}${name}`;
}
