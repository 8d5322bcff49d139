export { type DecodeLimits, type DecodeOptions, defaultDecodeLimits } from './options.ts';
export { idProblem } from './scalars.ts';
export { parseJson, type ParseJsonOptions } from './parse-json.ts';
