export { Reach } from '../service/index.ts';
