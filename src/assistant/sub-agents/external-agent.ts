import { handsOver, LazyClient } from '../../agents/index.ts';
import type {
  Client,
  ClientBinding,
  ClientOptions,
  RemoteTaskOptions,
  ResumePoint,
} from '../../client/index.ts';
import { cardVerifier } from '../../auth/index.ts';
import { present } from '../../config/index.ts';
import { authenticationHeaders } from '../../mcp/index.ts';
import { type ClientTls, clientTls } from '../../net/index.ts';
import {
  isJsonObject,
  type JsonObject,
  LegateError,
  type Message,
  type SendMessageResponse,
  toLegateError,
  parseJson,
  readAgentCard,
} from '../../protocol/index.ts';
import { tlsFetch, type UrlPolicy } from '../../push/index.ts';
import { type Logger, traceHeaders } from '../../telemetry/index.ts';
import type { Call } from '../executor/call-handler.ts';
import type { ExternalAgent } from '../project/sub-agents.ts';
import {
  stillRunning,
  failedOutput,
  isPassing,
  isSettled,
  outputOf,
  textOf,
  toMessage,
} from './external-output.ts';
import type { AgentInput, AgentOutput } from './model.ts';
import { StreamedArtifacts } from './streamed-artifacts.ts';

/** Default timeout of an agent that streams, in seconds; a polled agent has its own timeout. */
const longestStream = 600;
const lookTimeoutMs = 30_000;
/** The journal entry of the remote task, for a turn that runs again. */
const journaledPoint = 'task';
/** Milliseconds that pending cancellations may take when a connection is replaced. */
const closeGraceMs = 30_000;
/** Limit of all artifacts of one call; beyond it the call fails and nothing is truncated. */
const limits = { parts: 10_000, characters: 10_000_000 };

/**
 * An agent with protocol A2A. The connection is made when it is first needed.
 *
 * - **called**: the caller follows the task for at most `timeout`, then cancels it.
 * - **background**: the task took longer than `background_after`. The turn ends and the remote task
 *   continues; its resume point is saved with the conversation (`at_work`), so that any process can
 *   poll it.
 * - **polled**: with the next message to the agent. The call returns the result if there is one;
 *   otherwise the task stays in the background, or is cancelled after `timeout`.
 */
export class ExternalCaller {
  readonly #agent: ExternalAgent;
  readonly #connection: LazyClient;

  constructor(parts: ExternalParts) {
    this.#agent = parts.agent;
    const { verifyCard, ...access } = accessOf(parts);
    this.#connection = new LazyClient(
      (verification) => connectAgent(parts, { ...access, ...verification }),
      verifyCard,
    );
  }

  /**
   * Requests a task that can't exist: a not-found error proves that the agent is up and accepts our
   * credentials.
   */
  async check(signal?: AbortSignal): Promise<void> {
    const client = await this.#connection.get();
    try {
      await client.getTask('startup-check', { timeoutMs: 10_000, ...(signal && { signal }) });
    } catch (error) {
      const { code } = toLegateError(error);
      if (isPassing(error) || code === 'UNAUTHENTICATED' || code === 'PERMISSION_DENIED') {
        throw error;
      }
    }
  }

  async run(call: Call, input: AgentInput): Promise<AgentOutput> {
    try {
      const client = await this.#connection.get(call.signal);
      const message = toMessage(input);
      // Follows the task if an earlier attempt of the turn started it, instead of starting another.
      const { readResumePoint } = await import('../../client/index.ts');
      const point = readResumePoint(await call.journal?.read(journaledPoint));
      if (point?.taskId !== undefined) {
        return await this.#follow(client, call, input.id, { message, point });
      }
      return await this.#send(client, call, input, message);
    } catch (error) {
      call.signal.throwIfAborted();
      if (!isTaskGone(error) || input.metadata['task_id'] === undefined) {
        return this.#failure(input.id, error, call.logger);
      }
      // The task has ended; the user's message starts another one in the same context.
      const { task_id: _, ...metadata } = input.metadata;
      return this.run(call, { ...input, id: `${input.id}-anew`, metadata });
    }
  }

  /** Polls a background task. */
  async look(call: Call, input: AgentInput): Promise<AgentOutput> {
    const { id } = input;
    const { task_deadline: stored } = call.metadata;
    const deadline = typeof stored === 'number' ? stored : undefined;
    try {
      const point = await pointOf(call.metadata, id);
      const { taskId } = point;
      if (taskId === undefined) throw new LegateError('TASK_NOT_FOUND', 'no task is known');
      const client = await this.#connection.get(call.signal);
      const { signal } = call;
      const task = await client.getTask(taskId, { signal, timeoutMs: lookTimeoutMs });
      if (isSettled(task)) return await this.#answer({ task }, { call, id, point });
      if (deadline === undefined || call.clock.now() < deadline)
        return stillRunning(id, point, deadline);
      await this.cancel(call.metadata, call.logger);
      return timedOut(id, this.#seconds(client));
    } catch (error) {
      call.signal.throwIfAborted();
      return this.#failure(id, error, call.logger);
    }
  }

  /**
   * After an interruption the user's message doesn't answer the agent, so it isn't sent: the task is
   * polled, and its question is repeated.
   */
  async lookAgain(call: Call, input: AgentInput): Promise<AgentOutput | undefined> {
    const { id } = input;
    const { last_message: kept } = call.metadata;
    const last = typeof kept === 'string' ? kept : '';
    const point = await pointOf(call.metadata, id);
    if (point.taskId === undefined) {
      if (last === '') return undefined;
      return { id, status: 'input_required', responseMessage: last, metadata: call.metadata };
    }
    try {
      const client = await this.#connection.get(call.signal);
      const message = toMessage(input);
      // A background task reports its result when it is polled later.
      const quiet = { ...call, say: () => Promise.resolve() };
      return await this.#follow(client, quiet, id, { message, point, last });
    } catch (error) {
      call.signal.throwIfAborted();
      return isTaskGone(error) ? undefined : this.#failure(id, error, call.logger);
    }
  }

  /** Cancels the task on a best-effort basis: the conversation doesn't need it any more. */
  async cancel({ task_id: taskId }: JsonObject, logger: Logger): Promise<void> {
    if (typeof taskId !== 'string') return;
    const client = await this.#connection.get();
    await client.cancelTask(taskId, { timeoutMs: 4_000 }).catch(this.#cancelFailed(logger));
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  /**
   * Sends a message and follows its task. An agent that generates its own context ids refuses ours; the
   * message is then sent again without a context id.
   */
  async #send(
    client: Client,
    call: Call,
    input: AgentInput,
    message: Message,
  ): Promise<AgentOutput> {
    const known = await pointOf(input.metadata, message.messageId);
    const point = known.taskId === undefined ? undefined : { ...known, state: 'asking' as const };
    try {
      return await this.#follow(client, call, input.id, { message, point });
    } catch (error) {
      if (!isRefusedName(error, message)) throw error;
      const { contextId: _, ...nameless } = message;
      return this.#send(client, call, input, nameless);
    }
  }

  /** Follows a task until it settles, times out, moves to the background or the turn is aborted. */
  async #follow(
    client: Client,
    call: Call,
    id: string,
    what: {
      readonly message: Message;
      readonly point: ResumePoint | undefined;
      readonly last?: string;
    },
  ): Promise<AgentOutput> {
    const { RemoteTask, clientTransport } = await import('../../client/index.ts');
    const { timeout, backgroundAfter } = this.#agent;
    const { message, point, last } = what;
    const seconds = this.#seconds(client);
    const deadline = timeout === undefined ? undefined : call.clock.now() + timeout * 1000;
    const options: RemoteTaskOptions = {
      transport: clientTransport(client),
      request: { message },
      point,
      signal: call.signal,
      timeoutMs: seconds * 1000,
      ...(backgroundAfter !== undefined && { detachAfterMs: backgroundAfter * 1000 }),
      handsOver,
      limits,
      save: async (point) => call.journal?.write(journaledPoint, { ...point }),
      onCancelFailed: this.#cancelFailed(call.logger),
    };
    const task = new RemoteTask(options);
    const shown = new StreamedArtifacts(call);
    try {
      for await (const event of task.events()) {
        if (event.kind === 'chunk') await shown.add(event);
        if (event.kind === 'end' || event.kind === 'question') {
          const answer = event.kind === 'end' ? event.response : { task: event.task };
          const delivered = point?.delivered ?? {};
          const at = { call, id, point: task.point, delivered, last };
          return await shown.end(await this.#answer(answer, at));
        }
        const said = event.kind === 'progress' ? textOf(event.parts) : '';
        if (said !== '') await call.say({ text: said, metadata: { intermediate: true } });
      }
    } catch (error) {
      call.signal.throwIfAborted();
      if (task.expired !== undefined) return timedOut(id, seconds);
      throw error;
    }
    return stillRunning(id, task.point, deadline);
  }

  async #answer(
    answer: SendMessageResponse,
    at: {
      readonly call: Call;
      readonly id: string;
      readonly point: ResumePoint;
      /** @default that of the resume point */
      readonly delivered?: ResumePoint['delivered'];
      readonly last?: string | undefined;
    },
  ): Promise<AgentOutput> {
    const { call, id, point, delivered = point.delivered, last = '' } = at;
    // The task waits for an authorization that users can't give here.
    if ('task' in answer && answer.task.status.state === 'TASK_STATE_AUTH_REQUIRED') {
      await this.cancel({ task_id: answer.task.id }, call.logger);
    }
    return outputOf(answer, point, { id, name: this.#agent.name, delivered, last });
  }

  /** Timeout of an answer, in seconds. */
  #seconds({ card }: Client): number {
    const { timeout, maxPollingTime } = this.#agent;
    return timeout ?? (card.capabilities.streaming === true ? longestStream : maxPollingTime);
  }

  #failure(id: string, error: unknown, logger: Logger): AgentOutput {
    logger.warn({ agent: this.#agent.name, error }, 'sub_agent.external.failed');
    // The agent may have moved: reconnecting reads its card again.
    if (isPassing(error)) void this.#connection.close({ graceMs: closeGraceMs });
    return failedOutput(id, error);
  }

  #cancelFailed(logger: Logger): (error: unknown) => void {
    return (error) => logger.warn({ agent: this.#agent.name, error }, 'sub_agent.cancel_failed');
  }
}

/** The task saved with the conversation. */
async function pointOf(metadata: JsonObject, messageId: string): Promise<ResumePoint> {
  const { readMarks } = await import('../../client/index.ts');
  const { task_id: taskId, context_id: contextId, artifacts } = metadata;
  return {
    v: 2,
    state: 'working',
    messageId,
    ...(typeof taskId === 'string' && { taskId }),
    ...(typeof contextId === 'string' && { contextId }),
    delivered: readMarks(artifacts),
  };
}

/** Whether the task of a message has ended or no longer exists. */
function isTaskGone(error: unknown): boolean {
  const { code } = toLegateError(error);
  return code === 'TASK_NOT_FOUND' || code === 'UNSUPPORTED_OPERATION';
}

/** A refused message started no task, so it is safe to send again. */
function isRefusedName(error: unknown, { contextId, taskId }: Message): boolean {
  const { code } = toLegateError(error);
  const isRefused = code === 'INVALID_PARAMS' || code === 'INVALID_REQUEST';
  return contextId !== undefined && taskId === undefined && isRefused;
}

function timedOut(id: string, seconds: number): AgentOutput {
  return { id, status: 'fatal_error', errorMessage: `took longer than ${seconds} s` };
}

export interface ExternalParts {
  readonly agent: ExternalAgent;
  /** Files of the project by path: cards. */
  readonly files: ReadonlyMap<string, string>;
  /** @default globalThis.fetch */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Bindings in addition to the two over HTTP, with the TLS files of the agent. @default none */
  readonly bindings?: ((tls: ClientTls | undefined) => readonly ClientBinding[]) | undefined;
  /** URLs that the agent can have. @default any */
  readonly policy?: UrlPolicy | undefined;
  /** Relative paths of keys and certificates start here. @default the working directory */
  readonly directory?: string | undefined;
  /** Logs reloads of files. */
  readonly logger?: Logger | undefined;
}

/** How to connect to an agent. Opens its files now, so that an invalid one is an error at startup. */
function accessOf({ agent, fetch, bindings, policy, directory, logger }: ExternalParts) {
  const about = present({ what: `sub agent ${agent.name}`, directory, logger });
  const tls = agent.tls && clientTls(agent.tls, about);
  const own = tls === undefined ? fetch : tlsFetch(tls, policy);
  return present({
    fetch: own,
    bindings: bindings?.(tls),
    verifyCard: agent.verifyCard && cardVerifier(agent.verifyCard, about),
  });
}

/** Creates the client of a remote agent from its configuration; loads modules lazily. */
async function connectAgent(
  { agent, files, fetch }: ExternalParts,
  access: Pick<ClientOptions, 'fetch' | 'bindings' | 'verifyCard'>,
): Promise<Client> {
  const { connect } = await import('../../client/index.ts');
  const card = files.get(agent.agentCard);
  const address = card === undefined ? agent.agentCard : cardOf(card);
  const options: ClientOptions = {
    // withRetries retries calls and logs its delays.
    retry: false,
    timeoutMs: 60_000,
    poll: { initialMs: agent.pollingInitialDelay * 1000, maximumMs: 5_000 },
    ...access,
    ...(agent.auth !== undefined && {
      // Tokens come from another server. The TLS files don't apply to it.
      auth: { headers: authenticationHeaders(agent.auth, fetch === undefined ? {} : { fetch }) },
    }),
    onRequest: ({ headers }) => {
      // Propagates the trace to the agent.
      for (const [name, value] of Object.entries(traceHeaders())) headers.set(name, value);
    },
  };
  return connect(address, options);
}

/** The card exactly as written, so that its signature can be verified. */
function cardOf(text: string): JsonObject {
  const card = parseJson(text);
  readAgentCard(card);
  return isJsonObject(card) ? card : {};
}
