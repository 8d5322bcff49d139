export type { Channel, ChannelHost, MountedChannel, RouteCall, RouteHandler } from './channel.ts';
export { createHandler, type Handler } from './handler.ts';
export type { ConnectionLimits, ListenOptions } from './http-server.ts';
export { MetricsDoor, type PrometheusOptions } from './metrics-door.ts';
export type { RouterOptions } from './options.ts';
export { type Router, router } from './router.ts';
export { serve, type ServeOptions, type Serving } from './serve.ts';
export { serveAll, type ServeAllOptions, type ServedAgent, type ServingAll } from './serve-all.ts';
export { readJson, readJsonObject } from './request.ts';
export { sendJson } from './respond.ts';
export type { HttpService } from './service.ts';
export { telemetryOf } from './telemetry-options.ts';
export {
  type ApprovalView,
  type CallsView,
  type FlowView,
  type InspectedAssistant,
  type InspectorAccess,
  inspectorChannel,
  type InspectorChannel,
  type InspectorOptions,
  type NetworkNode,
  type NetworkPicture,
  type NetworkProvider,
  type PeerView,
  type StepView,
  type SubAgentView,
  type TrustLevel,
} from './inspector/index.ts';
