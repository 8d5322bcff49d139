/**
 * Legate: write an agent once and put it on the Agent-to-Agent network.
 * @module
 */
export * from './protocol/index.ts';
export * from './agents/index.ts';
export { anonymous, type Call, Engine, type EngineOptions } from './tasks/index.ts';
export { openStore, type Store, type StoreOptions } from './store/index.ts';
export * from './http/index.ts';
export { type GrpcDoor, openGrpc, serveGrpc } from './grpc/index.ts';
export { connect, Client, type ClientOptions, type ConnectOptions } from './client/index.ts';
export { type Logger, silentLogger } from './telemetry/index.ts';
