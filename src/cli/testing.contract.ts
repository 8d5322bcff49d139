/** Shared by the tests of bus commands: the command as a process, and folders with a bus. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect } from 'vitest';
import { projectFolder, type ProjectFolder } from '../../test/support/greenhouse.ts';
import { rabbitMq } from '../../test/support/rabbitmq.ts';
import { type Bus, openBus } from '../bus/index.ts';
import { environment } from './testing/environment.ts';
import { giveInput } from './testing/input.ts';

/** For tests that run many processes in sequence. */
export const slow = { timeout: 300_000 };

const command = join(import.meta.dirname, '../../bin/legate.cjs');
const source = join(import.meta.dirname, '..');

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface Running extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly out: () => string;
  readonly err: () => string;
  readonly ended: Promise<Ended>;
  /** Waits for a text on standard output or standard error. */
  says(words: string | RegExp): Promise<void>;
  stop(signal?: NodeJS.Signals): Promise<Ended>;
}

export interface LegateOptions {
  readonly cwd?: string;
  readonly input?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** Starts the command as a user would, with a pipe for input and output. */
export function start(args: readonly string[], options: LegateOptions = {}): Running {
  const child = spawn(process.execPath, [command, ...args], {
    ...(options.cwd !== undefined && { cwd: options.cwd }),
    env: { ...environment, ...options.env },
  });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  if (options.input !== undefined) giveInput(child.stdin, options.input);
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code) => resolve({ code, out, err }));
  });
  const stop = (signal: NodeJS.Signals = 'SIGTERM'): Promise<Ended> => {
    child.kill(signal);
    return ended;
  };
  return {
    child,
    out: () => out,
    err: () => err,
    ended,
    stop,
    says: (words) =>
      expect
        .poll(() => (child.exitCode === null ? out + err : `${out}${err}(it has ended)`), {
          timeout: 25_000,
        })
        .toMatch(words),
    [Symbol.asyncDispose]: async () => void (await stop('SIGKILL')),
  };
}

export function legate(args: readonly string[], options: LegateOptions = {}): Promise<Ended> {
  return start(args, { input: '', ...options }).ended;
}

/** A folder with its own exchange on the test broker. */
export interface BusFolder extends ProjectFolder {
  readonly bus: Bus;
  /** Unique on the broker. */
  readonly name: string;
  readonly env: NodeJS.ProcessEnv;
  run(args: readonly string[], options?: LegateOptions): Promise<Ended>;
  start(args: readonly string[], options?: LegateOptions): Running;
}

let unique = 0;

export async function busFolder(
  files: Readonly<Record<string, string>> = {},
  more = '',
  {
    url: given,
    dialect = 'legate',
  }: { readonly url?: string; readonly dialect?: 'legate' | 'rockbot' } = {},
): Promise<BusFolder> {
  const url = given ?? (await rabbitMq()).url;
  unique += 1;
  const name = `agent-${process.pid}-${Date.now()}-${unique}`;
  const exchange = `exchange-${name}`;
  const folder = await projectFolder({
    'endpoints.yml': `bus: {type: rabbitmq, url: "\${AMQP_URL}", exchange: ${exchange}, dialect: ${dialect}${more}}\n`,
    'agent.ts': agentModule(name),
    ...files,
  });
  const bus = await openBus({ type: 'rabbitmq', url, exchange, dialect });
  const env = { AMQP_URL: url };
  const here = (options: LegateOptions = {}): LegateOptions => ({
    cwd: folder.directory,
    ...options,
    env: { ...env, ...options.env },
  });
  return {
    ...folder,
    bus,
    name,
    env,
    run: (args, options) => legate(args, here(options)),
    start: (args, options) => start(args, here(options)),
    [Symbol.asyncDispose]: async () => {
      await bus.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** An agent with scripted behaviour: `fail`, `ask`, `hang`, or any text to echo. */
export function agentModule(name: string, exported = 'agent'): string {
  return `
import { agent as define, completed, failed, inputRequired, textOf, working } from '${source}/agents/index.ts';
import { data, text } from '${source}/protocol/index.ts';
export const ${exported} = define(
  { name: '${name}', description: 'Says it again', skills: ['echo', 'other'], serialise: 'task' },
  async function* (turn) {
    const said = textOf(turn.message);
    yield working('thinking');
    if (said === 'fail') yield failed('as you wish');
    else if (said === 'ask') yield inputRequired('which one?');
    else if (said === 'hang') await new Promise((_, reject) => turn.signal.addEventListener('abort', () => reject(turn.signal.reason)));
    else yield completed([text('echo ' + said), data({ by: turn.caller.subject })]);
  },
);
`;
}
