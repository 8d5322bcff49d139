import { z } from 'zod';
import { greenhouseFolder, type ProjectFolder } from '../../../../test/support/greenhouse.ts';
import { isJsonObject, type JsonObject } from '../../../protocol/index.ts';
import type { Logger } from '../../../telemetry/index.ts';
import {
  type AssistantServing,
  defineAction,
  InProcessActions,
  serveAssistant,
  type ServeAssistantOptions,
} from '../../index.ts';

/** A task in the 0.3 wire format, loosely typed. */
export interface WireTask {
  readonly id: string;
  readonly contextId: string;
  readonly status: {
    readonly state: string;
    readonly message?: { readonly parts: readonly JsonObject[] };
  };
  readonly artifacts?: readonly { readonly parts: readonly JsonObject[] }[];
  readonly metadata?: JsonObject;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: JsonObject;
}

export interface SayOptions {
  readonly contextId?: string;
  readonly messageId?: string;
  readonly taskId?: string;
  readonly metadata?: JsonObject;
  readonly parts?: readonly JsonObject[];
  readonly configuration?: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Holds actions of tests until the test opens it. */
export class Gate {
  readonly #waiting: (() => void)[] = [];
  /** How often the action started. */
  entered = 0;

  wait(signal: AbortSignal): Promise<void> {
    this.entered += 1;
    return new Promise((resolve, reject) => {
      this.#waiting.push(resolve);
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
  }

  open(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

export interface Served extends AsyncDisposable {
  readonly url: string;
  readonly serving: AssistantServing;
  readonly folder: ProjectFolder;
  readonly gate: Gate;
  /** Names of the events that were logged. */
  readonly logged: readonly string[];
  /** Names of the logged warnings. */
  readonly warned: readonly string[];
  rpc(
    method: string,
    params: JsonObject,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Reply>;
  /** Sends a message as an orchestrator does and returns the task. */
  say(text: string, options?: SayOptions): Promise<WireTask>;
  api(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Reply>;
  tracker(id: string): Promise<JsonObject & { readonly events: readonly JsonObject[] }>;
}

/** Serves the greenhouse project on a free port, with actions that tests can block. */
export async function served(
  options: Partial<ServeAssistantOptions> & {
    readonly files?: Readonly<Record<string, string>>;
  } = {},
): Promise<Served> {
  const { files = {}, ...rest } = options;
  const folder = await greenhouseFolder(files);
  const gate = new Gate();
  const logged: string[] = [];
  const warned: string[] = [];
  const logger = collecting(logged, warned);
  const actions = new InProcessActions([
    defineAction({
      name: 'action_water',
      async run({ slots, setSlot }) {
        setSlot('watered', Number(slots['watered']) + Number(slots['litres']));
      },
    }),
    defineAction({
      name: 'action_report',
      async run({ stream }) {
        await stream.start();
        for (const word of ['Everything', ' grows', '.']) await stream.chunk(word);
        await stream.end();
      },
    }),
    defineAction({
      name: 'action_pump',
      run: () => Promise.reject(new Error('the pump is broken, and its key is hunter2')),
    }),
    defineAction({ name: 'action_wait', run: ({ signal }) => gate.wait(signal) }),
  ]);
  let serving: AssistantServing;
  try {
    serving = await serveAssistant({
      places: { directory: folder.directory },
      environment: {},
      logger,
      enableApi: true,
      ...rest,
      build: { actions, ...rest.build },
    });
  } catch (error) {
    await folder[Symbol.asyncDispose]();
    throw error;
  }
  const url = `http://127.0.0.1:${serving.port}`;
  let messages = 0;
  const call = async (path: string, request: RequestInit): Promise<Reply> => {
    const response = await fetch(url + path, request);
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true;
    const body = (isJson && text !== '' ? JSON.parse(text) : { text }) as JsonObject;
    return { status: response.status, headers: response.headers, body };
  };
  const rpc: Served['rpc'] = (method, params, headers = {}) =>
    call('/', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
  const api: Served['api'] = (method, path, body, headers = {}) =>
    call(path, {
      method,
      headers,
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  return {
    url,
    serving,
    folder,
    gate,
    logged,
    warned,
    rpc,
    api,
    async say(text, more = {}) {
      messages += 1;
      const { messageId = `m-${messages}`, configuration, headers, parts, ...fields } = more;
      const message = {
        kind: 'message',
        role: 'user',
        messageId,
        parts: parts ?? [{ kind: 'text', text }],
        ...fields,
      };
      const params = { message, ...(configuration !== undefined && { configuration }) };
      const { body } = await rpc('message/send', params, headers);
      return wireTask(body);
    },
    async tracker(id) {
      const { body } = await api('GET', `/conversations/${encodeURIComponent(id)}/tracker`);
      return body as JsonObject & { readonly events: readonly JsonObject[] };
    },
    async [Symbol.asyncDispose]() {
      gate.open();
      await serving.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** The task that a call returned. */
export function wireTask(body: JsonObject): WireTask {
  const { success, data } = taskResult.safeParse(body['result']);
  if (!success) throw new Error(`expected a task: ${JSON.stringify(body)}`);
  return data;
}

const taskResult = z.custom<WireTask>((value) => isJsonObject(value) && 'status' in value);

/** Opens a stream and waits for its first event. `rest` reads it until it ends. */
export async function streamed(
  house: Pick<Served, 'url'>,
  method: string,
  params: JsonObject,
): Promise<{ rest(): Promise<readonly JsonObject[]> }> {
  const response = await fetch(house.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  return {
    async rest() {
      const lines = (await response.text()).split('\n');
      return lines
        .filter((line) => line.startsWith('data: '))
        .map((line) => (JSON.parse(line.slice(6)) as { result: JsonObject }).result);
    },
  };
}

/** The structured part of a task's status. */
export function stateOf(task: WireTask): JsonObject {
  return (task.status.message?.parts[0]?.['data'] ?? {}) as JsonObject;
}

/** The texts that the assistant sent to the user. */
export function wordsOf(task: WireTask): readonly unknown[] {
  return (task.status.message?.parts ?? []).flatMap(({ text }) =>
    text === undefined ? [] : [text],
  );
}

function collecting(names: string[], warned: string[]): Logger {
  const note = (_: unknown, event: string): void => void names.push(event);
  const warn = (_: unknown, event: string): void => {
    note(_, event);
    warned.push(event);
  };
  const logger: Logger = { debug: note, info: note, warn, error: note, child: () => logger };
  return logger;
}
