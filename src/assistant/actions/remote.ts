import { hash } from 'node:crypto';
import { readBodyOf } from '../../net/index.ts';
import { errorCode, isJsonObject, type JsonObject, type JsonValue } from '../../protocol/index.ts';
import { traceHeaders } from '../../telemetry/index.ts';
import { backoff, Deadline, retry } from '../../time/index.ts';
import type { BotMessage, Button } from '../conversation.ts';
import { oncePer } from '../once-per.ts';
import type { Domain } from '../model.ts';
import type { EventDraft } from '../tracker/events.ts';
import {
  type ActionCall,
  type ActionMessage,
  ActionRejected,
  type ActionResult,
  type ActionRunner,
} from './runner.ts';

/**
 * The address of the action server, its timeout and retries.
 * @example
 * const options: RemoteActionsOptions = {
 *   url: 'https://actions.example.com/webhook',
 *   headers: () => ({ authorization: `Bearer ${process.env['ACTIONS_TOKEN']}` }),
 *   timeoutMs: 20_000, domain: 'digest',
 * };
 */
export interface RemoteActionsOptions {
  /** The webhook: `http://localhost:5055/webhook`. */
  readonly url: string;
  /** Headers of every request, such as credentials. @default {} */
  readonly headers?: () => Readonly<Record<string, string>>;
  /** Milliseconds for one request, including its response. @default 300_000 */
  readonly timeoutMs?: number;
  /** Attempts to connect. @default 3 */
  readonly connectAttempts?: number;
  /** Milliseconds before the second attempt; doubled with each attempt. @default 200 */
  readonly retryDelayMs?: number;
  /** @default 1 MiB */
  readonly maxResponseBytes?: number;
  /**
   * Which requests include the domain: all (`always`), servers that request it with status 449
   * (`digest`), or only actions declared with `send_domain: true` (`selective`).
   * @default 'always'
   */
  readonly domain?: 'always' | 'digest' | 'selective';
  /** @default the global fetch */
  readonly fetch?: typeof fetch;
}

const VERSION = '3.1';

/**
 * Runs actions on an action server over HTTP, with one POST per action. The client retries only failed
 * connections, because the server may have executed any other request.
 * @example
 * const actions = new RemoteActions({ url: 'http://localhost:5055/webhook', domain: 'digest' });
 * await using assistant = await buildAssistant(project, { actions });
 */
export class RemoteActions implements ActionRunner {
  readonly #options: RemoteActionsOptions;
  readonly #fetch: typeof fetch;
  /** For errors and logs: the address without credentials. */
  readonly #name: string;

  constructor(options: RemoteActionsOptions) {
    this.#options = options;
    this.#fetch = options.fetch ?? fetch;
    const { origin, pathname } = new URL(options.url);
    this.#name = `action server ${origin}${pathname}`;
  }

  /** Always true: only the server can tell which actions it has. */
  has(): boolean {
    return true;
  }

  async run(call: ActionCall): Promise<ActionResult> {
    const tracker = await call.tracker();
    const mode = this.#options.domain ?? 'always';
    const isDeclared = call.domain.actions.get(call.name)?.sendDomain === true;
    const withDomain = mode === 'always' || (mode === 'selective' && isDeclared);
    const { timeoutMs = 300_000 } = this.#options;
    using deadline = new Deadline({
      signal: call.signal,
      milliseconds: timeoutMs,
      reason: () => new Error(`no answer within ${timeoutMs} ms`),
    });
    let response = await this.#post(call, this.#body(call, tracker, withDomain), deadline);
    if (response.status === 449 && !withDomain) {
      await response.body?.cancel();
      response = await this.#post(call, this.#body(call, tracker, true), deadline);
    }
    return await this.#read(call, response);
  }

  async #read(call: ActionCall, response: Response): Promise<ActionResult> {
    const where = this.#name;
    const limit = this.#options.maxResponseBytes ?? 1024 * 1024;
    const body = await readBounded(response, limit, where);
    if (response.status === 200) return readActionResult(body, where);
    if (response.status === 400) {
      throw new ActionRejected(`${where} rejected ${call.name}`);
    }
    if (response.status === 404) {
      throw new Error(`${where} has no action ${call.name}: register it there`);
    }
    throw new Error(`${where} answered ${response.status} for ${call.name}`);
  }

  async #post(call: ActionCall, body: string, deadline: Deadline): Promise<Response> {
    const { url, headers, connectAttempts = 3, retryDelayMs: initialMs = 200 } = this.#options;
    const { signal } = deadline;
    const post = (): Promise<Response> => {
      deadline.restart();
      return this.#fetch(url, {
        method: 'POST',
        headers: { ...traceHeaders(), ...headers?.(), 'content-type': 'application/json' },
        body,
        redirect: 'error',
        signal,
      });
    };
    try {
      return await retry(post, {
        delays: (failures) =>
          failures < connectAttempts ? backoff(failures, { initialMs }) : undefined,
        isRetryable: isConnectFailure,
        signal,
        onRetry: ({ attempt }) =>
          call.logger.warn({ server: this.#name, attempt }, 'action.server.connect_failed'),
      });
    } catch (error) {
      call.signal.throwIfAborted();
      const message = `${this.#name} did not answer for ${call.name}`;
      if (isConnectFailure(error)) throw new ActionServerUnreachable(message, { cause: error });
      throw new Error(message, { cause: error });
    }
  }

  #body(call: ActionCall, tracker: JsonObject, withDomain: boolean): string {
    const { json, digest } = writtenDomain(call.domain);
    const rest = JSON.stringify({
      next_action: call.name,
      sender_id: call.senderId,
      tracker,
      domain_digest: digest,
      version: VERSION,
    });
    return withDomain ? `${rest.slice(0, -1)},"domain":${json}}` : rest;
  }
}

/** The request did not reach the action server: nothing listens at its address, or the host is unknown. */
export class ActionServerUnreachable extends Error {}

/** Serializes the domain once: it is the same for every request and can be large. */
const writtenDomain = oncePer(({ raw }: Domain) => {
  const json = JSON.stringify(raw);
  return { json, digest: hash('sha256', json) };
});

const connectCodes = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Whether the connection failed before the request was sent. */
function isConnectFailure(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  const causes: readonly unknown[] = cause instanceof AggregateError ? cause.errors : [cause];
  return causes.some((one) => connectCodes.has(errorCode(one) ?? ''));
}

/** Maximum number of messages and events of one action. */
const MAX_ITEMS = 1_000;

/**
 * Decodes the response of an action server: `{events: [...], responses: [...]}`. Servers in many
 * languages fill unused fields with null and empty lists; both count as absent.
 */
export function readActionResult(body: string, where: string): ActionResult {
  const answer = parse(body, where);
  return {
    messages: listOf(answer, 'responses', where).flatMap((item) => readMessage(item)),
    events: listOf(answer, 'events', where).map((item) => readEvent(item, where)),
  };
}

/** Decodes one message of an NLG server; undefined when it is empty. */
export function readResponse(body: string, where: string): BotMessage | undefined {
  const [message] = readMessage(parse(body, where));
  if (message === undefined) return undefined;
  const { response: _, values: __, ...said } = message;
  return Object.keys(said).length === 0 ? undefined : said;
}

function parse(body: string, where: string): JsonObject {
  let answer: unknown;
  try {
    answer = JSON.parse(body);
  } catch (error) {
    throw new Error(`${where} answered with invalid JSON`, { cause: error });
  }
  if (!isJsonObject(answer)) throw new Error(`${where} answered with JSON that isn't an object`);
  return answer;
}

function listOf(answer: JsonObject, field: string, where: string): readonly JsonObject[] {
  const list = answer[field] ?? [];
  if (!Array.isArray(list) || !list.every(isJsonObject)) {
    throw new Error(`${where} answered with "${field}", which must be a list of objects`);
  }
  if (list.length > MAX_ITEMS) throw new Error(`${where} answered more than ${MAX_ITEMS} ${field}`);
  return list;
}

function readEvent(item: JsonObject, where: string): EventDraft {
  const { event, timestamp, ...fields } = item;
  if (typeof event !== 'string') throw new Error(`${where} answered an event without a name`);
  const time = typeof timestamp === 'number' && Number.isFinite(timestamp) ? { timestamp } : {};
  return { ...fields, ...time, event };
}

const known = new Set([
  'text',
  'image',
  'custom',
  'buttons',
  'elements',
  'quick_replies',
  'attachment',
  'template',
  'response',
]);

/** One message; none when every field of it is empty. */
function readMessage(item: JsonObject): readonly ActionMessage[] {
  const present = Object.fromEntries(Object.entries(item).filter(([, value]) => !isEmpty(value)));
  const { text, image, custom, buttons, elements, attachment } = present;
  const response = present['response'] ?? present['template'];
  const quickReplies = present['quick_replies'];
  const values = Object.fromEntries(Object.entries(present).filter(([key]) => !known.has(key)));
  const message: ActionMessage = {
    ...(typeof text === 'string' && { text }),
    ...(typeof image === 'string' && { image }),
    ...(custom !== undefined && { custom }),
    ...(Array.isArray(buttons) && { buttons: buttons.flatMap(readButton) }),
    ...(Array.isArray(elements) && { elements }),
    ...(Array.isArray(quickReplies) && { quickReplies }),
    ...(attachment !== undefined && { attachment }),
    ...(typeof response === 'string' && { response, values }),
  };
  return Object.keys(message).length === 0 ? [] : [message];
}

function readButton(item: JsonValue): readonly Button[] {
  if (!isJsonObject(item)) return [];
  const { title, payload } = item;
  if (typeof title !== 'string') return [];
  return [{ title, payload: typeof payload === 'string' ? payload : title }];
}

function isEmpty(value: JsonValue | undefined): boolean {
  if (value === null || value === undefined || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** The text of a response up to a size limit. */
export async function readBounded(
  response: Response,
  maxBytes: number,
  where: string,
): Promise<string> {
  const { bytes, isCut } = await readBodyOf(response, maxBytes);
  if (isCut) throw new Error(`${where} answered more than ${maxBytes} bytes`);
  return bytes.toString('utf8');
}
