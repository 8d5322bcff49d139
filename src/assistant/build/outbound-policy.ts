import type { UrlPolicy } from '../../push/index.ts';
import type { Endpoints } from '../project/index.ts';

/** Where `outbound` lets calls go; undefined where there is no such section. */
export function outboundPolicy(rules: Endpoints['outbound']): UrlPolicy | undefined {
  return rules && { schemes: ['http', 'https'], ...rules };
}
