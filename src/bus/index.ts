export * from './transport/index.ts';
export * from './identity/index.ts';
export { busCard, type BusCardOptions } from './exchange/index.ts';
export { gateway, type Gateway, type GatewayAgent, type GatewayOptions } from './gateway/index.ts';
export * from './host/index.ts';
export * from './link/index.ts';
