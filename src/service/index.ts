export { AuditLog, type DeniedRequest } from './audit.ts';
export { cardOf, Cards } from './cards.ts';
export { openServices, type Services } from './open-services.ts';
export {
  execute,
  inTenant,
  type OperationResult,
  outcomeText,
  serviceOperations,
} from './operations.ts';
export { Opened } from './opened.ts';
export {
  type AgentOptions,
  agentOptionNames,
  type EngineTuning,
  type SharedOptions,
  sharedOptionNames,
  tuningNames,
} from './options.ts';
export { PushService } from './push-service.ts';
export { Readiness, type ReadyReport } from './readiness.ts';
export {
  admit,
  admitStream,
  authenticate,
  callOf,
  checkVersion,
  errorHeaders,
  extensionHeaders,
  statedVersion,
} from './request-call.ts';
export { legacyDialect, NetworkExposure, type RequestLimits, type Service } from './service.ts';
export { RequestMeter } from './request-meter.ts';
export { readTls, type TlsFiles, watchTls } from './tls.ts';
