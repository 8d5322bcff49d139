export type { Codec, Dialect } from './dialect.ts';
export { v1 } from './v1/index.ts';
export { v03 } from './v03/index.ts';
export { v03Rest } from './v03-rest/index.ts';
