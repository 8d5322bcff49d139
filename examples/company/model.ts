/**
 * The model of the company: responds from a script over real HTTP, so that the company runs without an
 * API key. To use a real model, set MODEL, MODEL_URL and MODEL_KEY of the other services.
 */
import { type ScriptedReply, type ScriptedRequest, startScriptedModelServer } from 'legate/models';
import { agentFor } from '../bank/model/agents.ts';

function reply(request: ScriptedRequest): ScriptedReply {
  return request.tools.includes('invoke_agent')
    ? orchestrator(request)
    : (agentFor(request) ?? 'I can not help with that.');
}

/** Delegates the request to the bank, and returns its answer to the customer. */
function orchestrator({ messages, lastUserText }: ScriptedRequest): ScriptedReply {
  const last = messages.at(-1);
  if (last?.role === 'tool') {
    const { result } = JSON.parse(last.text) as { readonly result: string };
    return result;
  }
  const skill = /loan/.test(lastUserText) ? 'plan_loan' : 'open_savings';
  const input = { agent_name: 'bank', skill, message: lastUserText };
  return { toolCalls: [{ name: 'invoke_agent', input }] };
}

const { HOST = '127.0.0.1', PORT = '8000' } = process.env;
const server = await startScriptedModelServer(reply, { host: HOST, port: Number(PORT) });
console.log(`Serving the model at ${server.url}`);
process.once('SIGTERM', () => void server.close());
