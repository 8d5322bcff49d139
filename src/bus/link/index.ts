export { busLink, type BusLinkOptions } from './bus-link.ts';
export { BusTransport, type BusTransportOptions } from './bus-transport.ts';
