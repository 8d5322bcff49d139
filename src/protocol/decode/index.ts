export { type DecodeLimits, type DecodeOptions, defaultDecodeLimits } from './options.ts';
export { parseJson, type ParseJsonOptions } from './parse-json.ts';
