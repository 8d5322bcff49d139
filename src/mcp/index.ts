export {
  type Authentication,
  authenticationHeaders,
  requireSecureTransport,
} from './authentication.ts';
export { McpConnection, type McpToolInfo } from './connection.ts';
export type { McpToolResult } from './result.ts';
export { type McpServerConfig, serverOptionNames } from './server-config.ts';
export { type McpSelection, metaOf, selectTools } from './tool-set.ts';
