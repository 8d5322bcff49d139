/** Sections of endpoints.yml that Legate reads. Other sections have no effect. */
export const endpointSections: ReadonlySet<string> = new Set([
  'action_endpoint',
  'nlg',
  'model_groups',
  'mcp_servers',
  'a2a_server',
  'http_api',
  'store',
  'telemetry',
  'outbound',
  'push',
  'bus',
  'peers',
  'search',
]);
