export type { Announcement, AnnouncementRules } from './announcements.ts';
export { CardFetcher, type CardFetcherOptions } from './card-fetcher.ts';
export { Directory, type DirectoryOptions, type RefreshResult } from './directory.ts';
export { type KnownPeer, readKnownAgents, readWellKnownAgents } from './directory-files.ts';
export { directoryTools, type DirectoryToolsOptions } from './directory-tools.ts';
export { clientAuth } from './peer-http.ts';
export type { CardSource, Peer, PeerCredential, PeerOrigin, WellKnownPeer } from './peer.ts';
export {
  busBinding,
  busInterface,
  busNameOf,
  plainBinding,
  type TransportKind,
  transportKindsOf,
  transportKindOf,
} from './transport-kind.ts';
export type { FoundService, KnownToolServer, ServiceSearchOptions } from './service-search.ts';
