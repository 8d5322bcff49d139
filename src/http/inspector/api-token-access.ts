import type { ApiAccess } from '../assistant/api-access.ts';
import type { InspectorAccess } from './access.ts';

/** Whoever may use the HTTP API for everything may look as well. */
export function apiTokenAccess(access: ApiAccess): InspectorAccess {
  return {
    isOpen: access.isOpen,
    async admit(request, query) {
      await access.check(request, query, undefined);
      return { tenant: '', subject: '', method: 'api-token' };
    },
  };
}
