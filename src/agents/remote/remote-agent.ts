import type {
  Answer,
  AnswerLimits,
  Auth,
  Client,
  ClientOptions,
  PollOptions,
  Sendable,
  SendOptions,
  StreamOptions,
} from '../../client/index.ts';
import { type ClientTlsFiles, present } from '../../config/index.ts';
import { type Authentication, authenticationHeaders } from '../../mcp/index.ts';
import { clientTls } from '../../net/index.ts';
import {
  type AgentCard,
  AnswerStream,
  checkOptions,
  invalidConfiguration,
  type JsonObject,
  type OptionNames,
  type TextChange,
  toLegateError,
} from '../../protocol/index.ts';
import { traceHeaders } from '../../telemetry/index.ts';
import type { Agent, Turn, TurnEnd, TurnEvent } from '../agent.ts';
import { failure } from '../drive.ts';
import { stepsExtension } from '../steps/step.ts';
import { Deadline } from '../../time/index.ts';
import { LazyClient } from './lazy-client.ts';

/**
 * Options of a remote agent.
 * @example
 * const options: RemoteAgentOptions = {
 *   auth: { kind: 'api_key', key, headerName: 'X-API-Key', headerFormat: '{key}' },
 *   timeoutMs: 3_600_000,
 *   poll: { initialMs: 500 },
 * };
 */
export interface RemoteAgentOptions extends Pick<
  ClientOptions,
  | 'headers'
  | 'extensions'
  | 'binding'
  | 'bindings'
  | 'version'
  | 'legacyFileBytes'
  | 'retry'
  | 'fetch'
  | 'onRequest'
  | 'verifyCard'
> {
  /**
   * The name of the agent. Tasks are stored under it, so it never changes: a name from a card that is
   * fetched later is not used.
   * @default the host of the address, or the name in the card that was given
   */
  readonly name?: string;
  /** A description of the agent, for models and cards. @default the card's */
  readonly description?: string;
  /**
   * Files with certificate authorities and the client certificate, which are read again when they
   * change. An alternative to `fetch`; over gRPC, `grpcBinding` takes them.
   * @example tls: { ca: 'ca.pem', cert: 'client.pem', key: 'client.key' }
   */
  readonly tls?: ClientTlsFiles;
  /** Credentials for the peer. Sent only over TLS and to loopback. */
  readonly auth?: Authentication | Auth;
  /** Timeout of a turn, in milliseconds; 0 for no limit. @default 600_000 */
  readonly timeoutMs?: number;
  /** Maximum time without an event from the peer, in milliseconds; 0 for no limit. @default 120_000 */
  readonly inactivityTimeoutMs?: number;
  /** Timeout of a cancellation at the peer, in milliseconds. @default 4_000 */
  readonly cancelTimeoutMs?: number;
  /** How a task is polled if the peer does not stream. */
  readonly poll?: PollOptions;
  /** Limits of the answer that is kept. */
  readonly limits?: AnswerLimits;
  /** How to handle a turn whose process died. */
  readonly onInterrupted?: Agent['onInterrupted'];
}

const optionNames: OptionNames<RemoteAgentOptions> = {
  name: true,
  description: true,
  auth: true,
  timeoutMs: true,
  inactivityTimeoutMs: true,
  cancelTimeoutMs: true,
  poll: true,
  limits: 'object',
  onInterrupted: true,
  headers: true,
  extensions: true,
  binding: true,
  bindings: true,
  version: true,
  retry: true,
  fetch: true,
  onRequest: true,
  legacyFileBytes: true,
  tls: true,
  verifyCard: true,
};

/**
 * A remote agent with the interface of a local one.
 * @example const skillsOf = async (peer: RemoteAgent) => (await peer.connect()).skills.map(({ name }) => name);
 */
export interface RemoteAgent extends Agent {
  /** Defined after the first connection. */
  readonly card: AgentCard | undefined;
  /** Fetches the card now, and rejects if that fails. `serve` and LLM agents fetch it themselves. */
  connect(options?: { readonly signal?: AbortSignal }): Promise<AgentCard>;
  /** Sends a message outside of any turn and waits for the answer. */
  ask(input: Sendable, options?: StreamOptions & SendOptions): Promise<Answer>;
  /** Like `ask`, and streams the text of the answer. */
  stream(input: Sendable, options?: StreamOptions & SendOptions): AnswerStream<Answer>;
  /**
   * Closes the connection of a binding; the next turn opens another. Waits, for a bounded
   * time, until the tasks of aborted messages are cancelled.
   */
  close(): Promise<void>;
}

/** Maximum wait for the card before the agent is described without it, in milliseconds. */
const prepareMs = 3_000;

/**
 * Uses any A2A agent as a local one, in any binding and version, streaming or polled. Its questions are
 * passed to the caller, and the answers continue the same remote task. A cancellation is forwarded to
 * it.
 * @example const translator = remoteAgent('https://translator.example', { auth: { kind: 'token', token } });
 */
export function remoteAgent(
  address: string | URL | AgentCard | JsonObject,
  options: RemoteAgentOptions = {},
): RemoteAgent {
  checkOptions(`remoteAgent ${hostOf(address)}`, options, optionNames);
  const { timeoutMs = 600_000, inactivityTimeoutMs = 120_000, cancelTimeoutMs = 4_000 } = options;
  const waits = { timeoutMs, inactivityTimeoutMs, cancelTimeoutMs };
  const what = `remoteAgent ${hostOf(address)}`;
  if (options.tls !== undefined && options.fetch !== undefined) {
    throw invalidConfiguration(`${what}: give tls or fetch, not both`);
  }
  const tls = options.tls && clientTls(options.tls, { what });
  const lazy = new LazyClient(async (verification) => {
    // The client module is loaded with the first call.
    const { connect } = await import('../../client/index.ts');
    const fetch = tls && (await import('../../push/index.ts')).tlsFetch(tls);
    const settings = { ...toClientOptions(options), ...present({ fetch }), ...verification };
    return connect(address, settings);
  }, options.verifyCard);
  const name = options.name ?? hostOf(address);
  /** The name for people: the name in the card is better than a host, and does not reveal the address. */
  const labelOf = (): string => options.name ?? lazy.current?.card.name ?? name;
  const sender = options.name ?? (isAddress(address) ? String(address) : name);

  async function* askStreaming(
    ...[input, options]: Parameters<RemoteAgent['stream']>
  ): AsyncGenerator<TextChange, Answer> {
    const client = await lazy.get(options?.signal);
    const stream = client.stream(input, options);
    yield* stream.changes;
    return stream.result();
  }

  const remoteTurn = (turn: Turn) => ({
    name: labelOf(),
    sender,
    turn,
    waits,
    limits: options.limits,
  });

  async function* take(turn: Turn): AsyncGenerator<TurnEvent> {
    let client: Client;
    try {
      client = await lazy.get(turn.signal);
    } catch (error) {
      turn.signal.throwIfAborted();
      turn.logger.warn({ peer: labelOf(), error }, 'agents.remote.unreachable');
      const type = toLegateError(error).code.toLowerCase();
      yield { ...failure(type, `The agent ${labelOf()} could not be reached.`), error };
      return;
    }
    const { remoteEvents } = await import('./remote-run.ts');
    yield* remoteEvents({ ...remoteTurn(turn), client });
  }

  async function abandon(turn: Turn): Promise<Omit<TurnEnd, 'kind'> | undefined> {
    const { abandonRemote } = await import('./remote-run.ts');
    return abandonRemote({ ...remoteTurn(turn), connect: () => lazy.get(turn.signal) });
  }

  return {
    name,
    get title() {
      return labelOf();
    },
    get description() {
      return options.description ?? lazy.current?.card.description ?? name;
    },
    get skills() {
      return (
        lazy.current?.card.skills ?? [
          { id: name, name, description: this.description, tags: [name] },
        ]
      );
    },
    get inputModes() {
      return lazy.current?.card.defaultInputModes ?? ['*/*'];
    },
    get outputModes() {
      return lazy.current?.card.defaultOutputModes ?? ['text/plain', 'application/json'];
    },
    get card() {
      return lazy.current?.card;
    },
    ...(options.onInterrupted !== undefined && { onInterrupted: options.onInterrupted }),
    async prepare(signal) {
      using deadline = new Deadline({ ...present({ signal }), milliseconds: prepareMs });
      // If the peer is unreachable now, it is described by its address; the turn reports the error.
      await lazy.get(deadline.signal).catch(() => undefined);
    },
    take,
    abandon,
    connect: async ({ signal } = {}) => (await lazy.get(signal)).card,
    ask: async (input, options) => (await lazy.get(options?.signal)).ask(input, options),
    stream: (input, options) => new AnswerStream(askStreaming(input, options)),
    // The card is kept, so the agent's description does not change.
    close: async () => lazy.current?.close(),
  };
}

function toClientOptions({ auth, onRequest, ...options }: RemoteAgentOptions): ClientOptions {
  const { headers, extensions, binding, bindings, version, retry, poll, fetch, verifyCard } =
    options;
  const { legacyFileBytes } = options;
  return {
    ...present({ headers, extensions, binding, bindings, version, retry, poll, fetch, verifyCard }),
    ...present({ legacyFileBytes }),
    // Steps of the peer are recorded within the step of the call.
    optionalExtensions: [stepsExtension],
    onRequest: async (request) => {
      // Spans of the peer belong to the same trace.
      for (const [name, value] of Object.entries(traceHeaders())) request.headers.set(name, value);
      await onRequest?.(request);
    },
    ...(auth !== undefined && { auth: toAuth(auth, fetch) }),
  };
}

function toAuth(auth: Authentication | Auth, fetch: typeof globalThis.fetch | undefined): Auth {
  if (!('kind' in auth)) return auth;
  return { headers: authenticationHeaders(auth, fetch === undefined ? {} : { fetch }) };
}

function isAddress(agent: string | URL | AgentCard | JsonObject): agent is string | URL {
  return typeof agent === 'string' || agent instanceof URL;
}

function hostOf(address: string | URL | AgentCard | JsonObject): string {
  if (isAddress(address)) return URL.parse(address)?.host ?? String(address);
  return typeof address.name === 'string' ? address.name : 'remote agent';
}
