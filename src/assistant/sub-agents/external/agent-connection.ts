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

/** The client of one agent elsewhere, connected when it is first needed. */
export class AgentConnection {
  readonly #parts: ExternalParts;
  #connecting: Promise<Client> | undefined;
  /** What the connecting has led to. */
  #reached: Client | undefined;

  constructor(parts: ExternalParts) {
    this.#parts = parts;
  }

  client(): Promise<Client> {
    if (this.#connecting !== undefined) return this.#connecting;
    const connecting = connectAgent(this.#parts).then(
      (client) => {
        if (this.#connecting === connecting) this.#reached = client;
        return client;
      },
      (error: unknown) => {
        // The next call may find it.
        if (this.#connecting === connecting) this.#connecting = undefined;
        throw error;
      },
    );
    this.#connecting = connecting;
    return connecting;
  }

  /**
   * Closes the connection; the next call makes another. Resolves when the messages that were given up
   * have been cancelled, which may take no longer than `graceMs`.
   */
  async close(options?: { readonly graceMs?: number }): Promise<void> {
    const [connecting, reached] = [this.#connecting, this.#reached];
    this.#connecting = undefined;
    this.#reached = undefined;
    if (reached !== undefined) return reached.close(options);
    // Not waited for: a card may be long in coming. One that failed was told to whoever called.
    connecting?.then((client) => client.close()).catch(() => undefined);
  }
}

/** A client of an agent elsewhere, as its configuration says. What is needed is loaded when it is. */
async function connectAgent({ agent, files, fetch, bindings }: ExternalParts): Promise<Client> {
  const { connect } = await import('../../../client/index.ts');
  const card = files.get(agent.agentCard);
  const address = card === undefined ? agent.agentCard : (JSON.parse(card) as JsonObject);
  const options: ClientOptions = {
    // Repeated by whoever calls the agent, with waits that are told in the log.
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
