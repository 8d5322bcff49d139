import type { Call } from '../tasks/index.ts';
import type { Service } from './service.ts';

/**
 * Tells which of the extensions that the caller asked for are active, in its version's spelling;
 * undefined when there is nothing to tell.
 */
export function extensionHeaders(service: Service, call: Call): Record<string, string> | undefined {
  const { extensions = [] } = call;
  if (extensions.length === 0) return undefined;
  const declared = service.cards.current.capabilities.extensions ?? [];
  const active = declared.map(({ uri }) => uri).filter((uri) => extensions.includes(uri));
  if (active.length === 0) return undefined;
  const name = call.version === '1.0' ? 'a2a-extensions' : 'x-a2a-extensions';
  return { [name]: active.join(', ') };
}
