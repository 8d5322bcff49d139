export { gateway, type Gateway, type GatewayAgent, type GatewayOptions } from './gateway.ts';
