export { BusTransport, type BusTransportOptions } from './bus-transport.ts';
export { type DiscoveryOptions, listenForAgents } from './discovery.ts';
export { inspectedNetwork } from './inspected-network.ts';
export { joinPeers, type PeerNetwork, type PeerNetworkOptions } from './peer-network.ts';
