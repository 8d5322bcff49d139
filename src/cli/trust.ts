import { present } from '../config/index.ts';
import {
  type TrustChange,
  type Proposal,
  Proposals,
  taskOver,
  readTrustName,
  type TrustEntry,
  TrustLedger,
  trustName,
} from '../peers/index.ts';
import type { Store } from '../store/index.ts';
import { storeScheduler } from '../tasks/index.ts';
import type {
  AuditOptions,
  DecisionOptions,
  GrantOptions,
  TrustOptions,
} from './commands/workers.ts';
import { inStore } from './endpoints.ts';
import { oneLine, printResult } from './print.ts';
import { usage } from './usage.ts';

/** Lists the known callers and their trust levels. */
export async function listTrust(options: TrustOptions): Promise<void> {
  await inStore(options.store, async (store) => {
    const entries = await ledgerOf(store).list();
    for (const entry of entries) printResult(entryOf(entry), entryLine(entry), options);
    if (entries.length === 0 && options.json !== true) console.error('No known callers yet.');
  });
}

export async function grantTrust(caller: string, options: GrantOptions): Promise<void> {
  const { level, skill: skills, by } = options;
  if (level === undefined && skills === undefined) {
    throw usage('what to grant? Set --level, --skill, or both');
  }
  const subject = readTrustName(caller);
  await inStore(options.store, async (store) => {
    const entry = await ledgerOf(store).grant(subject, {
      by,
      ...present({ level, skills }),
    });
    printResult(entryOf(entry), entryLine(entry), options);
  });
}

export async function revokeTrust(caller: string, options: GrantOptions): Promise<void> {
  const { skill: skills, by } = options;
  const subject = readTrustName(caller);
  await inStore(options.store, async (store) => {
    const taken = { by, ...(skills !== undefined && { skills }) };
    const entry = await ledgerOf(store).revoke(subject, taken);
    printResult(entryOf(entry), entryLine(entry), options);
  });
}

/** Lists the pending approvals. */
export async function listProposals(options: TrustOptions): Promise<void> {
  await inStore(options.store, async (store) => {
    const open = await proposalsOf(store).list();
    for (const proposal of open) printResult(proposal, proposalLine(proposal), options);
    if (open.length === 0 && options.json !== true) console.error('No pending proposals.');
  });
}

/** Uses the clock of the store, like the servers that share it. */
function ledgerOf(store: Store): TrustLedger {
  return new TrustLedger({ records: store.records, scheduler: storeScheduler(store) });
}

function proposalsOf(store: Store): Proposals {
  const { records } = store;
  return new Proposals({ records, scheduler: storeScheduler(store), isOver: taskOver(store) });
}

/** Decides about a pending proposal. */
export function decideProposal(decision: 'approve' | 'refuse') {
  return async (id: string, options: DecisionOptions): Promise<void> => {
    await inStore(options.store, async (store) => {
      const decided = await proposalsOf(store)[decision](id, options.by);
      printResult(decided, `${decided.state}: ${proposalLine(decided)}`, options);
    });
  };
}

export async function showAudit(options: AuditOptions): Promise<void> {
  await inStore(options.store, async (store) => {
    const lines = await ledgerOf(store).audit.read({ limit: options.limit });
    for (const line of lines) printResult(line, auditLine(line), options);
  });
}

function entryOf(entry: TrustEntry): object {
  const { firstSeen, lastInteraction, ...rest } = entry;
  return {
    name: trustName(entry),
    ...rest,
    firstSeen: new Date(firstSeen).toISOString(),
    ...(lastInteraction !== undefined && {
      lastInteraction: new Date(lastInteraction).toISOString(),
    }),
  };
}

function entryLine(entry: TrustEntry): string {
  const { level, approvedSkills, interactionCount } = entry;
  const skills = approvedSkills.length === 0 ? 'no skills' : approvedSkills.join(', ');
  const shown = [trustName(entry), level, skills, `interactions ${interactionCount}`];
  return shown.map(oneLine).join('  ');
}

function proposalLine(proposal: Proposal): string {
  const { id, skill = 'no skill', text } = proposal;
  return [id, trustName(proposal), skill, text.slice(0, 200)].map(oneLine).join('  ');
}

function auditLine({ at, by, event, subject, details }: TrustChange): string {
  const more = details === undefined ? [] : [JSON.stringify(details)];
  return [at, by, event, subject, ...more].map(oneLine).join('  ');
}
