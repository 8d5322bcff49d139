/** What the tests of peers share. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Tool, ToolContext } from '../agents/index.ts';
import type { JsonValue } from '../protocol/index.ts';
import type { RecordStore, Store } from '../store/index.ts';
import type { Scheduler } from '../tasks/index.ts';
import { silentLogger } from '../telemetry/index.ts';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** What a test's peer answers: JSON, or a status alone. */
export type Answer = { readonly json: unknown } | { readonly status: number };

/** A peer over HTTP with the answers of the test. */
export async function testPeer(answer: (asked: Asked) => Answer | Promise<Answer>) {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      const { method = '', url: path = '', headers } = request;
      const question = { method, path, headers, body };
      asked.push(question);
      const said = await answer(question);
      if ('status' in said) response.writeHead(said.status).end();
      else {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify(said.json));
      }
    })();
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    asked,
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

/** A clock that the test advances; `advance` runs the timers that are due. */
export class TestClock implements Scheduler {
  #now: number;
  #timers: { at: number; callback: () => void }[] = [];

  constructor(now = 1_750_000_000_000) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  after(delay: number, callback: () => void) {
    let timer = { at: this.#now + delay, callback };
    this.#timers.push(timer);
    const cancel = (): void => {
      this.#timers = this.#timers.filter((each) => each !== timer);
    };
    return {
      cancel,
      restart: () => {
        cancel();
        timer = { at: this.#now + delay, callback };
        this.#timers.push(timer);
      },
    };
  }

  defer(callback: () => void): void {
    setImmediate(callback);
  }

  uuid(): string {
    return crypto.randomUUID();
  }

  advance(ms: number): void {
    this.#now += ms;
    const due = this.#timers.filter(({ at }) => at <= this.#now);
    this.#timers = this.#timers.filter(({ at }) => at > this.#now);
    for (const { callback } of due) callback();
  }
}

/** A tool of a set, by its name. */
export function toolOf(tools: readonly Tool[], name: string): Tool {
  const found = tools.find((each) => each.name === name);
  if (found === undefined) throw new Error(`there is no tool ${name}`);
  return found;
}

/** Runs a tool as a model would. */
export async function runTool(
  tools: readonly Tool[],
  name: string,
  input: JsonValue,
  context: ToolContext = toolContext(),
): Promise<unknown> {
  const called = toolOf(tools, name);
  const parsed = await called.parse(input);
  if (!parsed.ok) throw new Error(parsed.problem);
  return called.run(parsed.value, context);
}

export function toolContext(
  options: { contextId?: string; subject?: string; signal?: AbortSignal } = {},
): ToolContext & { readonly emitted: unknown[] } {
  const { contextId = 'c', subject = 'user', signal = new AbortController().signal } = options;
  const emitted: unknown[] = [];
  const turn = {
    contextId,
    taskId: 't',
    message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [] },
    caller: { tenant: '', subject, method: 'test' },
    clock: { now: () => Date.now() },
    logger: silentLogger,
    signal,
  };
  const context: Partial<ToolContext> = {
    callId: 'call',
    agent: 'me',
    turn: turn as unknown as ToolContext['turn'],
    signal,
    emit: async (event) => void emitted.push(event),
  };
  // The tools of peers use no more of a call than this.
  return { ...context, emitted } as ToolContext & { emitted: unknown[] };
}

/** The same store with other records. */
export function withRecords(store: Store, records: RecordStore): Store {
  return new Proxy(store, {
    get(target, name: keyof Store) {
      const member: unknown = name === 'records' ? records : target[name];
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
}
