import type { Section } from '../../config/index.ts';

/** Reads `http_api:` of endpoints.yml: access to the HTTP API. */
export function readHttpApi(section: Section) {
  const auth = section.boolean('auth') ?? false;
  const admins = section.names('admins');
  if (!auth && admins.length > 0) section.get('admins')?.keyError('"admins" needs auth: true');
  return { auth, admins };
}
