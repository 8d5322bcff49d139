export { readAgentCard } from './read.ts';
export { supersetCard } from './superset.ts';
