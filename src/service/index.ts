export { admit, admitStream, authenticate } from './admission.ts';
export { AuditLog, type DeniedRequest } from './audit.ts';
export { type CardOptions, cardOf, Cards, type ExtendedCard } from './cards.ts';
export { type AgentToServe, openServices, type Services } from './open-services.ts';
export {
  execute,
  inTenant,
  type OperationResult,
  outcomeText,
  serviceOperations,
} from './operations.ts';
export type { AgentOptions, EngineTuning, SharedOptions } from './options.ts';
export { type PushOptions, PushService } from './push-service.ts';
export { Readiness, type ReadyReport } from './readiness.ts';
export {
  callOf,
  checkVersion,
  errorHeaders,
  extensionHeaders,
  statedVersion,
} from './request-call.ts';
export { defaultLimits, Reach, type RequestLimits, type Service } from './service.ts';
export { readTls, type TlsFiles, watchTls } from './tls.ts';
