export { busAgent, type BusAgentOptions } from './bus-agent.ts';
export { gateway, type Gateway, type GatewayAgent, type GatewayOptions } from './gateway.ts';
