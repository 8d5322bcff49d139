/**
 * Agents on RabbitMQ: hosting them, the gateway, signed identities and queues.
 * @module
 */
export type { GatewayAgent } from './gateway/bus-agent.ts';
export { gateway, type Gateway, type GatewayOptions } from './gateway/gateway.ts';
export type { UnsignedSender } from './exchange.ts';
export { announceOnce } from './host/announcer.ts';
export {
  declareAgentQueue,
  type HostOptions,
  type HostOutcome,
  type Hosting,
  hostOnBus,
} from './host/host.ts';
export {
  skillAgent,
  type SkillAgentOptions,
  type SkillDefinition,
  type SkillHandler,
} from './host/skill-agent.ts';
export type { SkillConversation } from './host/skill-agent.ts';
export { type BusIdentity, readBusIdentity } from './identity/read-identity.ts';
export { MessageSigner } from './identity/signer.ts';
export { MessageVerifier, type TrustedIssuer } from './identity/verifier.ts';
export { busLink, type BusLinkOptions } from './link/bus-link.ts';
export {
  type AckDecision,
  type AgentQueueOptions,
  type Bus,
  type BusDialect,
  type BusMessage,
  type BusQueueOptions,
  type ConsumeOptions,
  type Consumption,
  type DeadLetter,
  type DeclaredObject,
  type DeclareOptions,
  type Delivery,
  done,
  type OutgoingMessage,
  type PublishOptions,
  type Queue,
  type QueueState,
  release,
} from './transport/bus.ts';
export { checkBusName, isBusName } from './transport/checks.ts';
export { LateBus } from './transport/late-bus.ts';
export { type BusOptions, busTlsFiles, openBus, readBusOptions } from './transport/open-bus.ts';
export { type BrokerQueue, brokerQueues } from './transport/rabbitmq/management.ts';
export {
  cancelQueueName,
  ownResponseQueue,
  statusQueue,
  agentOfQueue,
  isResponseQueueOf,
  taskQueueName,
  topics,
} from './transport/topics.ts';
