/**
 * The seam to other agents: who they are, what they may do, who calls whom. The inspector shows what
 * a provider says and hands it the operator's decisions; it keeps nothing of its own. Types only, for
 * the page imports them too.
 */
import type { JsonObject } from '../../protocol/index.ts';

/** Another agent that is known here. */
export interface PeerView {
  /** Unique among peers; opaque. */
  readonly id: string;
  readonly name: string;
  /** Where it is called: a URL, or the name of its queue. */
  readonly address: string;
  readonly transport: 'http' | 'bus';
  readonly reach: 'reachable' | 'unreachable' | 'unknown';
  /** Milliseconds since 1970. */
  readonly lastSeen?: number;
  readonly lastError?: string;
  /** As it was received, so that it can be checked. */
  readonly card?: JsonObject;
  /** One of `NetworkProvider.levels`. */
  readonly trust: string;
  /** Skills it may use, where the level asks for such a list. */
  readonly approvedSkills?: readonly string[];
  readonly interactions?: number;
}

/** An agent that an assistant here hands work to, as its project names it. */
export interface SubAgentView {
  /** Unique among nodes; opaque. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** The name of the assistant, as in `OwnerView.agent`. */
  readonly caller: string;
  /** `A2A`: another agent. `code` and `model`: a part of the assistant, by a module or by a model. */
  readonly kind: 'A2A' | 'code' | 'model';
  /** Where its card is. */
  readonly address?: string;
  /** The card, where it is a file of the project. */
  readonly card?: JsonObject;
}

/** What a peer may do, from least to most. */
export interface TrustLevel {
  readonly name: string;
  readonly description: string;
}

/** Something that a peer wants and an operator has to decide. */
export interface ApprovalView {
  readonly id: string;
  readonly peerId: string;
  /** In a few words. */
  readonly title: string;
  readonly detail?: string;
  /** Milliseconds since 1970. */
  readonly since: number;
}

/** Calls from one to the other, counted. */
export interface CallsView {
  /** Ids of nodes. */
  readonly from: string;
  readonly to: string;
  readonly count: number;
  readonly failed: number;
  /** Milliseconds since 1970. */
  readonly lastAt?: number;
}

export interface NetworkNode {
  readonly id: string;
  readonly kind: 'caller' | 'agent' | 'peer' | 'sub-agent' | 'webhook';
  readonly name: string;
  readonly detail?: string;
}

/** Whom we know, and what they may do. */
export interface PeersView {
  readonly levels: readonly TrustLevel[];
  readonly canSetTrust: boolean;
  readonly peers: readonly PeerView[];
  readonly subAgents: readonly SubAgentView[];
}

export interface NetworkPicture {
  readonly nodes: readonly NetworkNode[];
  readonly calls: readonly CallsView[];
}

/**
 * The network: a directory of peers and their trust.
 * @example
 * await serve(agent, { inspect: { network: { levels, peers: () => directory.list(), setTrust } } });
 */
export interface NetworkProvider {
  readonly levels: readonly TrustLevel[];
  peers(): Promise<readonly PeerView[]>;
  /** Grants or revokes; throws `LegateError` where that cannot be. Absent: trust is read-only. */
  setTrust?(
    peerId: string,
    change: { readonly level: string; readonly approvedSkills?: readonly string[] },
  ): Promise<void>;
  approvals?(): Promise<readonly ApprovalView[]>;
  decide?(approvalId: string, decision: 'approve' | 'reject'): Promise<void>;
  /** Calls to and from peers; ids are those of peers, or names of our agents. */
  calls?(): Promise<readonly CallsView[]>;
}
