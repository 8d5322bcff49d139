/**
 * Legate: write an agent once and put it on the Agent-to-Agent network.
 * @module
 */
export * from './protocol/index.ts';
export * from './agents/index.ts';
export {
  anonymous,
  type Call,
  Engine,
  type EngineOptions,
  type Scheduler,
  systemScheduler,
} from './tasks/index.ts';
export { openStore, type Store, type StoreOptions } from './store/index.ts';
export {
  type AssistantServing,
  type Channel,
  type ChannelHost,
  type Handler,
  type Inspected,
  inspectorDoor,
  type InspectorDoor,
  type InspectorOptions,
  type PrometheusOptions,
  type RouteCall,
  type RouteHandler,
  router,
  type Router,
  type RouterOptions,
  serve,
  serveAll,
  type ServeAllOptions,
  serveAssistant,
  type ServeAssistantOptions,
  type ServeOptions,
  type Serving,
  type ServingAll,
  type TlsFiles,
} from './http/index.ts';
export {
  grpcBinding,
  type GrpcBindingOptions,
  type GrpcDoor,
  openGrpc,
  serveGrpc,
} from './grpc/index.ts';
export {
  Client,
  type ClientBinding,
  type ClientOptions,
  connect,
  type ConnectOptions,
} from './client/index.ts';
export {
  createLogger,
  type Logger,
  type LoggerOptions,
  type OtlpOptions,
  silentLogger,
  startTelemetry,
  type Telemetry,
  type TelemetryOptions,
} from './telemetry/index.ts';
