export { inspectedNetwork } from './inspected-network.ts';
export {
  joinPeers,
  type PeerLink,
  type PeerNetwork,
  type PeerNetworkOptions,
} from './join-peers.ts';
