export type { InspectorAccess } from './access.ts';
export { inspectorChannel, type InspectorChannel } from './inspector-channel.ts';
export type { FlowView, StepView } from './model.ts';
export type { NetworkProvider } from './network.ts';
export type { InspectedAssistant, InspectorOptions } from './options.ts';
