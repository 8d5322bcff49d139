/** The paths of an agent card: of 1.0 and 0.3, and of versions before 0.3. */
export const cardPaths = ['/.well-known/agent-card.json', '/.well-known/agent.json'] as const;

/** Where the card of an agent may be, in the order in which clients try. */
export function cardUrls(address: URL): readonly URL[] {
  const { pathname, search } = address;
  if (pathname.endsWith('.json') || pathname.includes('/.well-known/')) return [address];
  const base = pathname.replace(/\/+$/, '');
  const wellKnown = cardPaths.map((path) => new URL(`${base}${path}${search}`, address));
  // An address with a path may also be a card's own, in a registry for instance.
  return base === '' ? wellKnown : [...wellKnown, address];
}
