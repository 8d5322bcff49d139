export { AuditLog, type DeniedRequest } from './audit.ts';
export { type CardOptions, cardOf, Cards, type ExtendedCard } from './cards.ts';
export type { Channel, ChannelHost, MountedChannel, RouteCall, RouteHandler } from './channel.ts';
export { extensionHeaders } from './extension-headers.ts';
export { createHandler, type Handler } from './handler.ts';
export { idempotencyKeyOf, listOf } from './http-call.ts';
export { execute, type OperationResult } from './operations.ts';
export { MetricsDoor, type PrometheusOptions } from './metrics-door.ts';
export { type PushOptions, PushService } from './push-service.ts';
export type { ConnectionLimits, ListenOptions } from './http-server.ts';
export type { AgentOptions, RouterOptions, SharedOptions } from './router-options.ts';
export { type Router, router } from './router.ts';
export { serve, type ServeOptions, type Serving } from './serve.ts';
export { serveAll, type ServeAllOptions, type ServedAgent, type ServingAll } from './serve-all.ts';
export { errorHeaders } from './statuses.ts';
export { telemetryOf } from './telemetry-options.ts';
export { contextOf as tlsContext, type TlsFiles } from './tls.ts';
export { waitAtMost } from './wait-at-most.ts';
export { defaultLimits, type HttpLimits, type Service } from './service.ts';
export {
  type AssistantServing,
  serveAssistant,
  type ServeAssistantOptions,
} from './assistant-door.ts';
export {
  type ApprovalView,
  type CallsView,
  type Inspected,
  type InspectedAgent,
  type InspectorAccess,
  inspectorDoor,
  type InspectorDoor,
  type InspectorOptions,
  type NetworkNode,
  type NetworkPicture,
  type NetworkProvider,
  type PeerView,
  type TrustLevel,
} from './inspector/index.ts';
