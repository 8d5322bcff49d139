import {
  type Auth,
  type BindingName,
  chooseInterface,
  type Client,
  type ClientBinding,
  connect,
  type ConnectOptions,
  fetchAgentCard,
  type FetchedCard,
} from '../../client/index.ts';
import { present } from '../../config/index.ts';
import { type AgentCard, LegateError, readAgentCard } from '../../protocol/index.ts';
import { tlsFetch } from '../../push/index.ts';
import { Deadline } from '../../time/index.ts';
import type { ClientCommandOptions } from '../commands/options.ts';
import { Progress } from '../progress.ts';
import {
  type AgentReference,
  catalogueAt,
  resolveReference,
  severalAgents,
} from './agent-reference.ts';
import { type Choices, choicesOf, quoted } from './choices.ts';
import { CommandFailure, type DeclaredScheme } from './failure.ts';
import { Redactor } from './redactor.ts';
import { WireLog } from './wire-log.ts';

/** One run of a client command: its agent, its settings, and its output. */
export class Session {
  readonly choices: Choices;
  readonly redactor = new Redactor();
  /** All requests of the command use it. */
  readonly fetch: typeof fetch;
  readonly #wireLog: WireLog | undefined;
  readonly #startedAt = Date.now();
  readonly #interrupt = new AbortController();
  readonly #deadline: Deadline;
  #resolved: Promise<AgentReference> | undefined;
  /** Undefined until the card was read. */
  #card: AgentCard | undefined;
  #isCardAnswered = false;
  /** The challenge of the server that refused the request for the card. */
  #challenge = '';
  #hasStoredToken = false;
  #waitedFor: string | undefined;
  #isTaskNamed = false;
  #nameTimer: NodeJS.Timeout | undefined;

  constructor(options: ClientCommandOptions, operands: readonly string[] | string | undefined) {
    this.choices = choicesOf(options, operands);
    const { bearer, apiKey, serviceParameters, tls, isDebug, timeoutMs } = this.choices;
    this.#deadline = new Deadline({
      signal: this.#interrupt.signal,
      milliseconds: timeoutMs ?? 0,
      reason: () => this.#late(),
    });
    const passphrase = process.env['A2ACLI_KEY_PASSPHRASE'];
    // Any service parameter may contain a credential.
    this.redactor.add(bearer, apiKey, passphrase, ...Object.values(serviceParameters));
    const own = tls === undefined ? globalThis.fetch : tlsFetch(tls);
    const watched: typeof fetch = async (input, init) => {
      const response = await own(input, init);
      if (response.ok) this.#isCardAnswered = true;
      if (response.status === 401) this.#challenge = response.headers.get('WWW-Authenticate') ?? '';
      return response;
    };
    this.#wireLog = isDebug ? new WireLog(this.redactor, (line) => console.error(line)) : undefined;
    this.fetch = this.#wireLog?.fetch(watched) ?? watched;
  }

  /** The remaining time of the call, in milliseconds. */
  get remainingMs(): number {
    const { timeoutMs } = this.choices;
    return timeoutMs === undefined
      ? Infinity
      : Math.max(0, this.#startedAt + timeoutMs - Date.now());
  }

  throwIfLate(): void {
    if (this.remainingMs <= 0) throw this.#late();
  }

  #late(): LegateError {
    const { timeoutMs = 0 } = this.choices;
    return new LegateError('REQUEST_TIMEOUT', `the call did not end within ${timeoutMs} ms`);
  }

  /** Aborts when the user interrupts the command. */
  get signal(): AbortSignal {
    return this.#interrupt.signal;
  }

  /** Aborts at the deadline of the call, too: for requests without a client, which has its own. */
  get deadline(): AbortSignal {
    return this.#deadline.signal;
  }

  close(): void {
    this.#deadline.close();
  }

  interrupt(): void {
    this.#interrupt.abort(new LegateError('REQUEST_TIMEOUT', 'interrupted'));
  }

  get hasCredentials(): boolean {
    const { bearer, apiKey, serviceParameters, tls } = this.choices;
    const isCredential = /authorization|cookie|key|token|secret/i;
    return (
      this.#hasStoredToken ||
      bearer !== undefined ||
      apiKey !== undefined ||
      tls?.last.certificate !== undefined ||
      Object.keys(serviceParameters).some((name) => isCredential.test(name))
    );
  }

  /** The security schemes that the agent's card declares. */
  get schemes(): readonly DeclaredScheme[] {
    return Object.entries(this.#card?.securitySchemes ?? {}).map(([name, scheme]) => ({
      name,
      kind: Object.keys(scheme)[0] ?? '',
    }));
  }

  warn(text: string): void {
    console.error(`legate: ${this.redactor.clean(text)}`);
  }

  /** Awaits the answer and shows progress on a terminal. */
  async answered<T>(answer: Promise<T>): Promise<T> {
    using _progress = new Progress('Waiting for the agent');
    return await answer;
  }

  /** Remembers the task that the command waits for, and prints its id after a second. */
  waitsFor(taskId: string): void {
    if (this.#waitedFor === taskId) return;
    this.#waitedFor = taskId;
    this.#isTaskNamed = false;
    clearTimeout(this.#nameTimer);
    this.#nameTimer = setTimeout(() => this.nameTask(), 1_000).unref();
  }

  /** Prints the id of that task, once. */
  nameTask(): void {
    clearTimeout(this.#nameTimer);
    if (this.#waitedFor === undefined || this.#isTaskNamed) return;
    this.#isTaskNamed = true;
    const id = quoted(this.#waitedFor);
    this.warn(`task ${id}; to see it later: legate get ${this.choices.agentFlag} ${id}`);
  }

  /** Stops naming the task: the wait succeeded. */
  hasResult(): void {
    clearTimeout(this.#nameTimer);
    this.#waitedFor = undefined;
  }

  /** The card as received, and as parsed. */
  async fetchCard(): Promise<{ readonly card: AgentCard; readonly json: unknown }> {
    this.warnOfDanger();
    using _progress = new Progress('Reading the card');
    const fetched = await this.#readCard(await this.resolve());
    this.#card = fetched.card;
    return fetched;
  }

  /** The location of the card; resolves an entry of a catalogue. */
  resolve(): Promise<AgentReference> {
    this.#resolved ??= resolveReference(this.choices.agent, this.#fetching);
    return this.#resolved;
  }

  get #fetching() {
    return { fetch: this.fetch, signal: this.deadline };
  }

  async connect(): Promise<Client> {
    const { card } = await this.fetchCard();
    return this.clientOf(card);
  }

  /** A client for the agent of a card. */
  async clientOf(card: AgentCard): Promise<Client> {
    const bindings = await this.bindingsOf(card);
    const offered = (preference: { version?: '1.0' | '0.3'; binding?: BindingName }) => {
      try {
        return chooseInterface(card, { ...preference, bindings });
      } catch {
        return undefined;
      }
    };
    const newest = offered({})?.version;
    const { transports, version = newest ?? '1.0' } = this.choices;
    if (newest !== undefined && offered({ version }) === undefined) {
      throw new LegateError(
        'VERSION_NOT_SUPPORTED',
        `${JSON.stringify(card.name)} speaks A2A ${newest} and not ${version}`,
      );
    }
    if (newest === '0.3' && this.choices.version === undefined) {
      this.warn(`${JSON.stringify(card.name)} offers only A2A 0.3`);
    }
    const binding = transports.find((one) => offered({ version, binding: one })?.binding === one);
    const auth = await this.authFor(card);
    const client = await connect(card, {
      ...this.#connectOptions(),
      version,
      bindings,
      ...present({ binding, auth }),
    });
    if (this.choices.isDebug) {
      const { protocolBinding, protocolVersion, url } = client.interface;
      this.warn(`speaks ${protocolBinding} ${protocolVersion} with ${url}`);
    }
    return client;
  }

  /** Loads the bindings beside HTTP only for cards that offer them: loading them is slow. */
  async bindingsOf(card: AgentCard): Promise<readonly ClientBinding[]> {
    const isOffered = card.supportedInterfaces.some(
      ({ protocolBinding }) => protocolBinding.toUpperCase() === 'GRPC',
    );
    if (!isOffered) return [];
    const { grpcBinding } = await import('../../grpc/index.ts');
    const { tls, isInsecure } = this.choices;
    const binding = grpcBinding({
      tls: { ...tls?.last, dangerouslyAllowUnverified: isInsecure },
    });
    return [this.#wireLog?.binding(binding) ?? binding];
  }

  async #readCard(
    reference: AgentReference,
  ): Promise<{ readonly card: AgentCard; readonly json: unknown }> {
    try {
      if (reference.kind === 'file') {
        return { card: readAgentCard(reference.card), json: reference.card };
      }
      return await this.#fetchCardAt(reference.url);
    } catch (error) {
      throw await this.#cardFailure(error, reference);
    }
  }

  /** Requests the card without credentials, then with credentials if the server requires them. */
  async #fetchCardAt(url: string): Promise<FetchedCard> {
    const options = this.#connectOptions();
    try {
      return await fetchAgentCard(url, options);
    } catch (error) {
      if (!(error instanceof LegateError) || error.code !== 'UNAUTHENTICATED') throw error;
      const auth = this.challengedAuth();
      if (auth === undefined) throw error;
      return fetchAgentCard(url, { ...options, auth });
    }
  }

  /** Credentials for the challenge of the server that refused the request for the card. */
  challengedAuth(): Auth | undefined {
    const { bearer, apiKey } = this.choices;
    if (bearer !== undefined && /\bbearer\b/i.test(this.#challenge)) return { bearer };
    if (apiKey === undefined || !/\bapi-?key\b/i.test(this.#challenge)) return undefined;
    return { apiKey: { name: 'X-API-Key', value: apiKey } };
  }

  async #cardFailure(error: unknown, reference: AgentReference): Promise<unknown> {
    if (!(error instanceof LegateError)) return error;
    const isAnswered = reference.kind === 'file' || this.#isCardAnswered;
    const isWrong = error.code === 'PEER_INVALID' || error.code === 'INVALID_PARAMS';
    if (!isWrong) return error;
    if (isAnswered && reference.kind === 'url' && new URL(reference.url).pathname !== '/') {
      const entries = await catalogueAt(reference.url, this.#fetching);
      if (entries !== undefined) return severalAgents(reference.url, entries);
    }
    const code = isAnswered ? 'A2ACLI_ERR_CARD_INVALID' : 'A2ACLI_ERR_CARD_NOT_FOUND';
    const hint = isAnswered ? 'see all that is wrong with it: legate check' : 'check the address';
    return new CommandFailure(code, error.message, { hint, cause: error });
  }

  #connectOptions(): ConnectOptions {
    const { serviceParameters, timeoutMs, pollMs, extensions } = this.choices;
    return {
      signal: this.signal,
      headers: serviceParameters,
      extensions,
      ...present({ timeoutMs }),
      ...(pollMs !== undefined && {
        poll: { initialMs: pollMs, maximumMs: Math.max(pollMs, 30_000) },
      }),
      fetch: this.fetch,
    };
  }

  /** The given credentials, for the scheme of the card; else the token that "legate auth login" stored. */
  async authFor(card: AgentCard): Promise<Auth | undefined> {
    const { bearer, apiKey } = this.choices;
    if (bearer !== undefined) return { bearer };
    if (apiKey === undefined) return this.#storedAuth(card);
    for (const scheme of Object.values(card.securitySchemes ?? {})) {
      if (!('apiKeySecurityScheme' in scheme)) continue;
      const { name, location } = scheme.apiKeySecurityScheme;
      return { apiKey: { name, location, value: apiKey } };
    }
    return { apiKey: { name: 'X-API-Key', value: apiKey } };
  }

  /** A token that was issued for this agent. */
  async #storedAuth(card: AgentCard): Promise<Auth | undefined> {
    const reference = await this.resolve();
    if (reference.kind === 'file') return undefined;
    const { accessToken, takesTokens } = await import('./tokens.ts');
    if (!takesTokens(card)) return undefined;
    const bearer = await accessToken(new URL(reference.url).origin, this);
    if (bearer === undefined) return undefined;
    this.#hasStoredToken = true;
    return { bearer };
  }

  warnOfDanger(): void {
    for (const file of this.choices.exposedFiles) {
      this.warn(
        `WARNING: ${file} contains a credential that other users can read; run chmod 600 ${file}`,
      );
    }
    if (!this.choices.isInsecure) return;
    // Node reads it for each new connection.
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    this.warn(
      this.hasCredentials
        ? 'WARNING: certificates are not verified (--insecure), and credentials are sent: anyone on the network path can read them'
        : 'WARNING: certificates are not verified (--insecure): anyone on the network path can impersonate the agent',
    );
  }
}
