export type { Channel, ChannelHost, RouteCall, RouteHandler } from './channel.ts';
export { type Handler } from './handler.ts';
export { MetricsEndpoint, type PrometheusOptions } from './metrics-endpoint.ts';
export type { RouterOptions } from './options.ts';
export { type Router, router } from './router.ts';
export { serve, type ServeOptions, type Serving } from './serve.ts';
export { serveAll, type ServeAllOptions, type ServingAll } from './serve-all.ts';
export { readJson, readJsonObject } from './request.ts';
export { sendJson } from './respond.ts';
export { telemetryOf } from './telemetry-options.ts';
export {
  type FlowView,
  type InspectedAssistant,
  type InspectorAccess,
  inspectorChannel,
  type InspectorChannel,
  type InspectorOptions,
  type NetworkProvider,
  type StepView,
} from './inspector/index.ts';
