export { wrapAgent } from './wrap-agent.ts';
