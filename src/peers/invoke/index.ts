export { progressOf } from './answer-text.ts';
export { askingUsers } from './asking-users.ts';
export type { Conversations } from './conversations.ts';
export { engineConversations, type EngineConversationsOptions } from './engine-conversations.ts';
export { HttpTransport, type HttpTransportOptions } from './http-transport.ts';
export type {
  Invocation,
  InvocationEnd,
  InvocationOutcome,
  InvocationSession,
  PeerEvent,
  PeerListener,
  PeerQuestion,
  PeerTransport,
} from './invocation.ts';
export type { InvokeRequest } from './invoke-request.ts';
export { invokeTool, type InvokeToolOptions } from './invoke-tool.ts';
export { Invoker, type InvokerOptions } from './invoker.ts';
export { PlainTransport, type PlainTransportOptions } from './plain-transport.ts';
export type { WaitOptions } from './calls.ts';
