import { Authenticator } from '../../auth/index.ts';
import type { Caller } from '../../agents/index.ts';
import { handleJsonRpc } from '../json-rpc.ts';
import { handleRest } from '../rest.ts';
import type { Service } from '../service.ts';
import { type ApiCall, nothing } from './api-call.ts';
import type { Inspection } from './inspection.ts';

/**
 * A2A for the page, below `a2a/{agent}`: both bindings, both versions, whatever doors the agent has of
 * its own. Who may look may talk, as who they are.
 */
export async function talkToAgent(
  { agents, closing }: Inspection,
  { request, response, query, operator }: ApiCall,
  path: string,
): Promise<void> {
  const [, encoded = '', rest = ''] = /^([^/]*)(.*)$/s.exec(path) ?? [];
  const name = nameOf(encoded);
  const agent = agents.find((one) => one.name === name);
  if (agent === undefined) throw nothing(`agent ${encoded.slice(0, 100)} here`);
  const service: Service = { ...agent.service, auth: knownAs(operator), isLenient: true };
  if (rest === '' || rest === '/') {
    return handleJsonRpc(service, request, response, query, closing);
  }
  return handleRest(service, request, response, { path: rest, query }, closing);
}

function nameOf(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}

/** The operator proved who they are at the inspector's own door. */
function knownAs(operator: Caller): Authenticator {
  if (operator.subject === '') return new Authenticator({ verifiers: [] });
  return new Authenticator({
    verifiers: [
      { method: operator.method, challenge: 'Bearer', schemes: {}, verify: async () => operator },
    ],
  });
}
