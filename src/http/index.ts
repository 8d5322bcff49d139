export type { Channel, ChannelHost, RouteCall, RouteHandler } from './channel.ts';
export { openChannels } from './agent-endpoints.ts';
export { openRouter, type Router, router } from './endpoints.ts';
export { type Handler, sendHealth } from './handler.ts';
export type { MountableHandler } from './mount.ts';
export type { InspectorAccess } from './inspector/access.ts';
export { inspectorChannel, type InspectorChannel } from './inspector/inspector-channel.ts';
export type {
  ConversationDescription,
  FlowView,
  NetworkProvider,
  SavedTest,
  StepView,
  TestRunView,
  TestStepView,
} from './inspector/model.ts';
export type {
  ConversationOwner,
  InspectedAssistant,
  InspectedTarget,
  InspectorOptions,
} from './inspector/options.ts';
export { MetricsEndpoint, type PrometheusOptions } from './metrics-endpoint.ts';
export { type RouterOptions, telemetryOf } from './options.ts';
export { authenticateRequest, readJson, readJsonObject } from './request.ts';
export { sendJson } from './respond.ts';
export { serveAll, type ServeAllOptions, type ServingAll } from './serve-all.ts';
export {
  readServerSection,
  refuseTls,
  serverOptionsOf,
  type ServerSettings,
} from './server-section.ts';
export { serve, servedAt, type ServeOptions, type Serving } from './serve.ts';
