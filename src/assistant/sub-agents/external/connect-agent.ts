import type { Client, ClientBinding, ClientOptions } from '../../../client/index.ts';
import { authenticationHeaders } from '../../../mcp/index.ts';
import type { JsonObject } from '../../../protocol/index.ts';
import { traceHeaders } from '../../../telemetry/index.ts';
import type { ExternalAgent } from '../../project/model.ts';

export interface ExternalParts {
  readonly agent: ExternalAgent;
  /** Texts of the project: cards. */
  readonly files: ReadonlyMap<string, string>;
  /** @default globalThis.fetch */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Beside the two over HTTP. @default [] */
  readonly bindings?: readonly ClientBinding[] | undefined;
}

/** Creates the client of a remote agent from its configuration; loads modules lazily. */
export async function connectAgent({
  agent,
  files,
  fetch,
  bindings,
}: ExternalParts): Promise<Client> {
  const { connect } = await import('../../../client/index.ts');
  const card = files.get(agent.agentCard);
  const address = card === undefined ? agent.agentCard : (JSON.parse(card) as JsonObject);
  const options: ClientOptions = {
    // withRetries retries calls and logs its delays.
    retry: false,
    timeoutMs: 60_000,
    poll: { initialMs: agent.pollingInitialDelay * 1000, maximumMs: 5_000 },
    ...(fetch !== undefined && { fetch }),
    ...(bindings !== undefined && { bindings }),
    ...(agent.auth !== undefined && {
      auth: { headers: authenticationHeaders(agent.auth, fetch === undefined ? {} : { fetch }) },
    }),
    onRequest: ({ headers }) => {
      // What the agent does is part of the same trace.
      for (const [name, value] of Object.entries(traceHeaders())) headers.set(name, value);
    },
  };
  return connect(address, options);
}
