export { errorHeaders } from '../service/index.ts';
