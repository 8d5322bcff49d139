export {
  type Authentication,
  authenticationHeaders,
  type AuthenticationOptions,
} from './authentication.ts';
export { type McpCallOptions, McpConnection, type McpToolInfo } from './connection.ts';
export { type NodeHandlerOptions, toNodeHandler } from './node-handler.ts';
export type { McpToolResult } from './result.ts';
export { requireSafeWire } from './safe-wire.ts';
export type { McpHttpServer, McpServerConfig, McpStdioServer } from './server-config.ts';
export { type McpSelection, type MetaMap, metaOf, selectTools } from './tool-set.ts';
