import { invalidParams, type JsonObject, LegateError } from '../../protocol/index.ts';
import {
  type ApiCall,
  audited,
  bodyOf,
  type Inspection,
  reply,
  type Routes,
} from './inspection.ts';
import { networkPicture, subAgents } from './network-picture.ts';
import type { NetworkProvider, PeersView } from './network.ts';

/** Other agents: who they are, what they may do, and who calls whom. */
export const networkRoutes: Routes = [
  [
    'GET',
    'network',
    async (inspection, { response }) => reply(response, await networkPicture(inspection)),
  ],
  [
    'GET',
    'peers',
    async (inspection, { response }) => {
      const { network } = inspection;
      const view: PeersView = {
        levels: network?.levels ?? [],
        canSetTrust: network?.setTrust !== undefined,
        peers: (await network?.peers()) ?? [],
        subAgents: subAgents(inspection),
      };
      reply(response, view);
    },
  ],
  ['POST', 'peers/{id}/trust', setTrust],
  [
    'GET',
    'approvals',
    async ({ network }, { response }) => reply(response, (await network?.approvals?.()) ?? []),
  ],
  ['POST', 'approvals/{id}', decide],
];

async function setTrust(inspection: Inspection, call: ApiCall): Promise<void> {
  const provider = required(inspection.network, 'setTrust');
  const { id: peerId = '' } = call.params;
  const { level, approvedSkills } = await bodyOf(call);
  if (typeof level !== 'string' || !provider.levels.some(({ name }) => name === level)) {
    const names = provider.levels.map(({ name }) => name).join(', ');
    throw invalidParams({ field: 'level', description: `must be one of ${names}` });
  }
  const skills = skillsOf(approvedSkills);
  await provider.setTrust(peerId, {
    level,
    ...(skills !== undefined && { approvedSkills: skills }),
  });
  audited(inspection, call, 'audit.trust_set', { peerId, level });
  reply(call.response, {});
}

async function decide(inspection: Inspection, call: ApiCall): Promise<void> {
  const provider = required(inspection.network, 'decide');
  const { id: approvalId = '' } = call.params;
  const { decision } = await bodyOf(call);
  if (decision !== 'approve' && decision !== 'reject') {
    throw invalidParams({ field: 'decision', description: 'must be approve or reject' });
  }
  await provider.decide(approvalId, decision);
  audited(inspection, call, 'audit.approval_decided', { approvalId, decision });
  reply(call.response, {});
}

function required<K extends 'setTrust' | 'decide'>(
  provider: NetworkProvider | undefined,
  ability: K,
): NetworkProvider & Required<Pick<NetworkProvider, K>> {
  if (provider?.[ability] !== undefined) {
    return provider as NetworkProvider & Required<Pick<NetworkProvider, K>>;
  }
  throw new LegateError('UNSUPPORTED_OPERATION', 'nobody here keeps the trust of other agents');
}

function skillsOf(given: JsonObject[string] | undefined): readonly string[] | undefined {
  if (given === undefined) return undefined;
  const isList = Array.isArray(given) && given.every((skill) => typeof skill === 'string');
  if (isList) return given;
  throw invalidParams({ field: 'approvedSkills', description: 'must be a list of skill ids' });
}
