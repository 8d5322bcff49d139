export { readableId } from './flow.ts';
export { type LoadedFlows, loadFlows, type LoadFlowsOptions } from './flow.ts';
