export { type Proposal, Proposals, type ProposalsOptions, taskOver } from './proposals.ts';
export {
  matchSkill,
  type SkillAliases,
  type SkillMatchOptions,
  namedSkill,
} from './skill-match.ts';
export { type InboundNote, trustGate, type TrustGateOptions } from './trust-gate.ts';
export { TrustAudit, type TrustChange } from './trust-audit.ts';
export {
  type Grant,
  type TrustEntry,
  TrustLedger,
  type TrustLedgerOptions,
} from './trust-ledger.ts';
export {
  isProved,
  peerSubject,
  readTrustName,
  type TrustLevel,
  trustLevels,
  trustName,
  type TrustSubject,
} from './trust-subject.ts';
