export { didYouMean, editDistance, suggest } from './did-you-mean.ts';
export { Field, Section } from './field.ts';
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
export { readStore, type StoreSettings } from './store-section.ts';
export { readTelemetry, type TelemetrySettings } from './telemetry-section.ts';
export {
  type Environment,
  type OnUnset,
  type Source,
  YamlFile,
  type YamlOptions,
} from './yaml-file.ts';
