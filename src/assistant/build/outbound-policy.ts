import { guardedFetch } from '../../push/index.ts';
import type { Endpoints } from '../project/index.ts';

/** `fetch` that goes only where `outbound` lets it; undefined where there is no such section. */
export function outboundFetch(rules: Endpoints['outbound']): typeof globalThis.fetch | undefined {
  return rules && guardedFetch({ schemes: ['http', 'https'], ...rules });
}
