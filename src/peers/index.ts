/**
 * Other agents: the directory, trust, calls and working memory.
 * @module
 */
export { Directory } from './directory/directory.ts';
export {
  type KnownPeer,
  readKnownAgents,
  readWellKnownAgents,
} from './directory/directory-files.ts';
export type { Peer, PeerCredential, WellKnownPeer } from './directory/peer.ts';
export type { FoundService } from './directory/service-search.ts';
export { busInterface, busNameOf } from './directory/transport-kind.ts';
export { type Progress, progressOf } from './invoke/answers.ts';
export { askingUsers } from './invoke/asking-users.ts';
export type { WaitOptions } from './invoke/calls.ts';
export { type Conversations, engineConversations } from './invoke/conversations.ts';
export type {
  Invocation,
  InvocationEnd,
  InvocationOutcome,
  InvocationSession,
  PeerEvent,
  PeerListener,
  PeerQuestion,
  PeerTransport,
} from './invoke/invocation.ts';
export type { InvokeRequest } from './invoke/invoke-request.ts';
export { Invoker } from './invoke/invoker.ts';
export {
  type MemoryEntry,
  type MemoryQuery,
  type SaveOptions,
  WorkingMemory,
} from './memory/working-memory.ts';
export { inspectedNetwork } from './network/inspected-network.ts';
export {
  joinPeers,
  openPeers,
  type OpenedPeers,
  type PeerLink,
  type PeerNetwork,
  type PeerNetworkOptions,
} from './network/join-peers.ts';
export { type Proposal, Proposals, taskOver } from './trust/proposals.ts';
export { matchSkill, namedSkill, type SkillAliases } from './trust/skill-match.ts';
export { type InboundNote, trustGate, type TrustGateOptions } from './trust/trust-gate.ts';
export {
  type Grant,
  type TrustChange,
  type TrustEntry,
  TrustLedger,
} from './trust/trust-ledger.ts';
export {
  peerSubject,
  readTrustName,
  type TrustLevel,
  trustLevels,
  trustName,
  type TrustSubject,
} from './trust/trust-subject.ts';
export { withPeers } from './turn/with-peers.ts';
export { wrapAgent } from './wrap-agent.ts';
