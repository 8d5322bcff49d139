export { PushService } from '../service/index.ts';
