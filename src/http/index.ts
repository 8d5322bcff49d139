export type { Channel, ChannelHost, RouteCall, RouteHandler } from './channel.ts';
export { type Router, router } from './endpoints.ts';
export type { Handler } from './handler.ts';
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
export { MetricsEndpoint, type PrometheusOptions } from './metrics-endpoint.ts';
export { type RouterOptions, telemetryOf } from './options.ts';
export { readJson, readJsonObject } from './request.ts';
export { sendJson } from './respond.ts';
export { serveAll, type ServeAllOptions, type ServingAll } from './serve-all.ts';
export { serve, type ServeOptions, type Serving } from './serve.ts';
