import type { Caller } from '../../agents/index.ts';
import { isBusName } from '../transport/index.ts';

/** The prefix of subjects that nobody has proved; no verified subject can begin like this. */
const unverified = 'unverified:';

/**
 * A sender that proved nothing: known by the name it gives itself, and by no other's.
 * @example selfAsserted('alice').subject // 'unverified:alice'
 */
export function selfAsserted(name: string | undefined): Caller {
  const shown = isBusName(name) ? name : 'unknown';
  return {
    tenant: '',
    subject: `${unverified}${shown}`,
    method: 'self-asserted',
    displayName: shown,
  };
}
