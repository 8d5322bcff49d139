export type { TlsFiles } from '../service/index.ts';
