import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Counts } from './counts.ts';
import { Processes } from './processes.ts';

const proof = join(import.meta.dirname, '../../../src/bus/proof');

/** What every sender of tasks does. */
export interface TaskSender {
  send(text: string): void;
  kill(): Promise<void>;
  /** The tasks that are not answered yet. */
  readonly open: () => readonly string[];
  stop(): void;
}

export interface SenderOptions {
  readonly url: string;
  readonly exchange: string;
  readonly agent: string;
  readonly directory: string;
  readonly checked: Counts;
  readonly violations: string[];
}

const replySchema = z.object({ text: z.string(), code: z.string() });
const answerSchema = z.tuple([z.string(), z.string()]);

/** Calls the agent as a peer, from a process with a store in a file, which finds its calls again. */
export async function callerProcess(options: SenderOptions): Promise<TaskSender> {
  const { url, exchange, agent, directory, checked, violations } = options;
  const answers = join(directory, 'answers');
  /** Sent, and neither accepted nor refused. */
  const unsure = new Set<string>();
  const accepted = new Set<string>();
  const processes = new Processes({
    file: join(proof, 'caller.contract.ts'),
    args: () => [url, exchange, agent, 'killed-caller', join(directory, 'caller.db'), answers],
    onReady: () => unsure.forEach((text) => processes.send(0, text)),
    onMessage(_index, said) {
      const { text, code } = replySchema.parse(said);
      unsure.delete(text);
      if (code === 'accepted') accepted.add(text);
      else if (code === 'UNAVAILABLE') checked.add('tasks refused to their sender');
      else violations.push(`${text} was refused: ${code}`);
    },
  });
  await processes.start(1);
  const seen = new Set<string>();
  const read = (): void => {
    if (!existsSync(answers)) return;
    const lines = readFileSync(answers, 'utf8').split('\n').slice(0, -1);
    for (const line of lines) {
      const [text, answer] = answerSchema.parse(JSON.parse(line));
      if (answer !== `begun done ${text}`) violations.push(`${text} was answered with: ${answer}`);
      if (!seen.has(text)) checked.add('answers to a killed caller');
      seen.add(text);
    }
  };
  return {
    send(text) {
      unsure.add(text);
      processes.send(0, text);
    },
    kill: () => processes.kill(0),
    open() {
      read();
      return [...unsure, ...[...accepted].filter((text) => !seen.has(text))];
    },
    stop: () => processes.stop(),
  };
}

const taskSchema = z.object({
  result: z.object({
    task: z.object({
      status: z.object({ state: z.string() }),
      artifacts: z.array(z.object({ parts: z.array(z.object({ text: z.string() })) })),
    }),
  }),
});

/** Calls the agent over HTTP; a client sends its message again until it is answered. */
export async function gatewayProcess(options: SenderOptions): Promise<TaskSender> {
  const { url, exchange, agent, directory, checked, violations } = options;
  let address = '';
  const open = new Set<string>();
  const over = new AbortController();
  const processes = new Processes({
    file: join(proof, 'gateway.contract.ts'),
    args: () => [url, exchange, agent, join(directory, 'gateway.db')],
    onReady: (_index, said) => (address = String(said)),
  });
  await processes.start(1);
  const ask = async (text: string): Promise<string | undefined> => {
    const message = { messageId: text, role: 'ROLE_USER', parts: [{ text }] };
    const response = await fetch(address, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'a2a-version': '1.0',
        // The messages of anonymous callers are recognised by this alone.
        'idempotency-key': text,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }),
      signal: AbortSignal.any([over.signal, AbortSignal.timeout(60_000)]),
    });
    const { data } = taskSchema.safeParse(await response.json());
    if (data === undefined) return undefined;
    const { status, artifacts } = data.result.task;
    const said = artifacts.flatMap(({ parts }) => parts.map((part) => part.text)).join('');
    return status.state === 'TASK_STATE_COMPLETED' ? said : `${status.state} ${said}`;
  };
  const follow = async (text: string): Promise<void> => {
    while (!over.signal.aborted) {
      // The gateway or its broker is away: the same message again.
      const answer = await ask(text).catch(() => undefined);
      if (answer === undefined) {
        await new Promise((resolve) => void setTimeout(resolve, 500));
        continue;
      }
      open.delete(text);
      checked.add('answers over HTTP');
      if (answer !== `begun done ${text}`) violations.push(`${text} was answered with: ${answer}`);
      return;
    }
  };
  return {
    send(text) {
      open.add(text);
      void follow(text);
    },
    kill: () => processes.kill(0),
    open: () => [...open],
    stop() {
      over.abort();
      processes.stop();
    },
  };
}
