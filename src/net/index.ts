export {
  BodyBudgetExceeded,
  type BodyLimits,
  defaultBodyLimits,
  networkOf,
  parsedBody,
  readBodyOf,
  readBytes,
} from './body.ts';
export {
  type ClientTls,
  clientTls,
  type ClientTlsOptions,
  type TlsMaterial,
} from './client-tls.ts';
export {
  checkFiles,
  type FileCheck,
  FileSource,
  includeInChecks,
  readConfiguredFile,
} from './file-source.ts';
export { toFetchHandler } from './fetch-handler.ts';
export { toNodeHandler } from './node-handler.ts';
export { pemBlocks, readCertificates } from './pem.ts';
