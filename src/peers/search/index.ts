export { rank, type Ranked } from './ranking.ts';
