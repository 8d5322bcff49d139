export { type AddressKind, addressKind } from './address.ts';
export {
  type BodySigner,
  bodySigner,
  type VerifyBodyOptions,
  verifyBodySignature,
} from './body-signature.ts';
export type { BackoffOptions } from './delivery-sender.ts';
export type { DeliveryAnswer, DeliveryTransport } from './delivery-transport.ts';
export {
  GuardedClient,
  type GuardedClientOptions,
  type OutboundRequest,
} from './guarded-client.ts';
export { type GuardedFetch, guardedFetch, type GuardedFetchOptions } from './guarded-fetch.ts';
export {
  type PushAttempt,
  PushDispatcher,
  type PushDispatcherOptions,
  type PushScheduler,
} from './outbox.ts';
export {
  checkUrl,
  type CheckUrlOptions,
  httpsOrLoopbackPolicy,
  publicHttpsPolicy,
  sealedPolicy,
  type UrlPolicy,
  UrlRefused,
} from './policy.ts';
export { checkPushAddress, redactPushConfig, validatePushConfig } from './registration.ts';
export { resolveChecked, type Resolver, systemResolver } from './resolver.ts';
export {
  generateSigningKey,
  type PublicKeySet,
  publicKeySet,
  readSigningKey,
  type SigningAlgorithm,
  type SigningKey,
} from './signing-key.ts';
