export * from './directory/index.ts';
export * from './invoke/index.ts';
export * from './memory/index.ts';
export * from './network/index.ts';
export * from './trust/index.ts';
export { rank, type Ranked } from '../search/index.ts';
export { wrapAgent } from './wrap-agent.ts';
