/**
 * Webhooks and other outbound calls: the addresses they can reach, the outbox, and signed bodies.
 * @module
 */
export {
  type ClientTls,
  clientTls,
  type ClientTlsOptions,
  type TlsMaterial,
} from '../net/index.ts';
export type { ClientTlsFiles } from '../config/index.ts';
export {
  type AddressKind,
  addressKind,
  checkUrl,
  type CheckUrlOptions,
  httpsOrLoopbackPolicy,
  operatorPolicy,
  publicHttpsPolicy,
  publicPolicy,
  type UrlPolicy,
  UrlRefused,
} from './policy.ts';
export {
  type BodySigner,
  bodySigner,
  generateSigningKey,
  localKeySet,
  type PublicKeySet,
  publicKeySet,
  readSigningKey,
  type SigningAlgorithm,
  type SigningKey,
  type VerifyBodyOptions,
  verifyBodySignature,
} from './body-signature.ts';
export {
  type BackoffOptions,
  type DeliveryAnswer,
  type DeliveryTransport,
} from './delivery-sender.ts';
export {
  GuardedClient,
  type GuardedClientOptions,
  type GuardedFetch,
  guardedFetch,
  type GuardedFetchOptions,
  type OutboundRequest,
  tlsFetch,
} from './guarded-client.ts';
export {
  type PushAttempt,
  PushDispatcher,
  type PushDispatcherOptions,
  type PushScheduler,
} from './outbox.ts';
export {
  type PushSettings,
  readPushSection,
  rotatingSigner,
  signingKeyFiles,
} from './push-section.ts';
export { readUrlRules } from './url-rules.ts';
export { checkPushAddress, redactPushConfig, validatePushConfig } from './registration.ts';
export { resolveChecked, type Resolver, systemResolver } from './guarded-agent.ts';
