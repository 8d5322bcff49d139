import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { environment } from './environment.ts';
import { giveInput } from './input.ts';

const command = join(import.meta.dirname, '../../../bin/legate.cjs');

/** For tests that start processes on busy machines. */
export const patient = { timeout: 180_000 };

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface ProcessOptions {
  readonly input?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly directory?: string;
}

/** A running command, with its output so far. */
export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  readonly out: string;
  readonly err: string;
}

/** Runs the command as a user would, in an empty folder and with only the given environment. */
export function legate(args: readonly string[], options: ProcessOptions = {}): Promise<Ended> {
  return start(args, options).ended;
}

export function start(args: readonly string[], options: ProcessOptions = {}): Running {
  const home = mkdtempSync(join(tmpdir(), 'legate-home-'));
  const child = spawn(process.execPath, [command, ...args], {
    cwd: options.directory ?? home,
    env: { ...environment, HOME: home, ...options.env },
  });
  const said = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said.err += text));
  giveInput(child.stdin, options.input);
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code) => {
      rmSync(home, { recursive: true, force: true });
      resolve({ code, ...said });
    });
  });
  return {
    child,
    ended,
    get out() {
      return said.out;
    },
    get err() {
      return said.err;
    },
  };
}

/** The fields of a text output without blocks; of repeated ones the last. */
export function fieldsOf(out: string): Readonly<Record<string, string>> {
  const fields = out
    .split('\n')
    .map((line) => /^(\w[\w ]*): (.+)$/.exec(line))
    .filter((match) => match !== null)
    .map(([, label = '', value = '']) => [label, value] as const);
  return Object.fromEntries(fields);
}
