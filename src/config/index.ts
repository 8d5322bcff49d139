export { locate } from './locate.ts';
