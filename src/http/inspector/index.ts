export type { InspectorAccess } from './access.ts';
export { apiTokenAccess } from './api-token-access.ts';
export { inspectorDoor, type InspectorDoor } from './inspector-door.ts';
export type {
  ApprovalView,
  CallsView,
  NetworkNode,
  NetworkPicture,
  NetworkProvider,
  PeerView,
  TrustLevel,
} from './network.ts';
export type { Inspected, InspectedAgent, InspectorOptions } from './options.ts';
