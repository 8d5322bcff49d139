export { didYouMean, editDistance, suggest } from '../protocol/index.ts';
export { endpointSections } from './endpoint-sections.ts';
export { Field, Section } from './field.ts';
export { importModule, offerOwnPackage } from './import-module.ts';
export {
  formatProblem,
  type Place,
  type Position,
  type Present,
  type Problem,
  present,
  Problems,
  TextError,
} from './problem.ts';
export { allowedName, readAllowedNames } from './allowed-names.ts';
export { type CardTrust, readCardTrust } from './card-trust-section.ts';
export { type ClientTlsFiles, readClientTls } from './client-tls-section.ts';
export { type KeyAccess, readKeyAccess } from './key-access-section.ts';
export { type PeersSettings, readPeers } from './peers-section.ts';
export { readStore, type StoreSettings } from './store-section.ts';
export { readUrl } from './url-field.ts';
export { readTelemetry, type TelemetrySettings } from './telemetry-section.ts';
export {
  type Environment,
  type OnUnset,
  type Source,
  YamlFile,
  type YamlOptions,
} from './yaml-file.ts';
