import type { Caller } from '../../agents/index.ts';
import { Authenticator } from '../../auth/index.ts';
import { handleJsonRpc } from '../json-rpc.ts';
import type { HttpService } from '../options.ts';
import { handleRest } from '../rest.ts';
import { type ApiCall, nothing } from './api-call.ts';
import type { Inspection } from './inspection.ts';

/**
 * A2A for the page, below `a2a/{agent}`: both bindings, both versions, whatever transports the agent has of
 * its own. Who may look may talk, as who they are.
 */
export async function talkToAgent(
  inspection: Inspection,
  { request, response, query, params, operator }: ApiCall,
): Promise<void> {
  const { closing } = inspection;
  const { agent = '', '*': rest = '' } = params;
  if (agent !== inspection.agent) throw nothing(`agent ${agent.slice(0, 100)} here`);
  const service: HttpService = {
    ...inspection.service,
    auth: knownAs(operator),
    isLenient: true,
  };
  if (rest === '') return handleJsonRpc(service, request, response, query, closing);
  return handleRest(service, request, response, { path: `/${rest}`, query }, closing);
}

/** The operator proved who they are to the inspector. */
function knownAs(operator: Caller): Authenticator {
  if (operator.subject === '') return new Authenticator({ verifiers: [] });
  return new Authenticator({
    verifiers: [
      { method: operator.method, challenge: 'Bearer', schemes: {}, verify: async () => operator },
    ],
  });
}
