export { readBody } from './request.ts';
