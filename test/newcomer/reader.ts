import { equal } from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { giveInput } from '../../src/cli/testing/input.ts';
import type { Block } from './markdown.ts';

/** Reads a page from top to bottom and does what it says; fails where the page is wrong. */
export class Reader implements AsyncDisposable {
  directory: string;
  readonly #environment: NodeJS.ProcessEnv;
  /** Addresses of the page, and those that they are here. */
  readonly #addresses = new Map<string, string>();
  readonly #background: ChildProcess[] = [];
  /** What the last command said; one that continues may say more. */
  #said = (): string => '';

  constructor(directory: string, environment: NodeJS.ProcessEnv) {
    this.directory = directory;
    this.#environment = environment;
  }

  get said(): string {
    return this.#said();
  }

  async follow(blocks: readonly Block[]): Promise<void> {
    for (const block of blocks) await this.#take(block);
  }

  async #take({ language, info, title, body }: Block): Promise<void> {
    if (title === 'conversation') return this.#talk(body);
    if (language === 'text') return this.#compare(body);
    if (title !== undefined) return this.#write(title, body);
    if (info === 'background') return this.#serve(body);
    if (language !== 'sh' || info === 'talk') return;
    const said = await this.#run(body);
    this.#said = () => said;
  }

  /** Starts a command that runs until the reader is disposed of. */
  start(command: string): ChildProcess {
    const child = this.#start(command);
    this.#background.push(child);
    return child;
  }

  async #write(title: string, body: string): Promise<void> {
    const file = join(this.directory, title);
    await mkdir(dirname(file), { recursive: true });
    // Any port that is free: the one of the page may be taken here.
    await writeFile(file, this.#here(body).replace(/port: 8000/, 'port: 0'));
  }

  /** What was said before must be what the page says. */
  #compare(body: string): void {
    equal(this.#there(this.said).trim(), body.trim());
  }

  async #talk(body: string): Promise<void> {
    const lines = body.split('\n');
    const prompt = 'you > ';
    const typed = lines.filter((line) => line.startsWith(prompt));
    const said = typed.map((line) => line.slice(prompt.length));
    const heard = await this.#run('npx legate shell', `${said.join('\n')}\n`);
    equal(heard, lines.filter((line) => !line.startsWith(prompt)).join('\n'));
  }

  async #serve(command: string): Promise<void> {
    const typed = command.trim().replace(/\s+#.*$/, '');
    const here = typed
      .replace(/^npx legate run\b.*$/, '$& -p 0')
      .replace(/^npm start$/, '$& -- -p 0');
    const child = this.start(here);
    let output = '';
    child.stdout?.on('data', (text: string) => (output += text));
    child.stderr?.on('data', (text: string) => (output += text));
    const address = await until(
      () => /http:\/\/localhost:\d+/.exec(output)?.[0],
      () => `${here} printed no address: ${output}`,
    );
    const port = typed.startsWith('node ') ? 8000 : 5005;
    this.#addresses.set(`http://localhost:${port}`, address);
    this.#said = () => output;
  }

  async #run(script: string, input = ''): Promise<string> {
    const child = this.#start(`set -e\n${this.#here(script)}\necho "now in $PWD" >&2`);
    let out = '';
    let told = '';
    child.stdout?.on('data', (text: string) => (out += text));
    child.stderr?.on('data', (text: string) => (told += text));
    giveInput(child.stdin, input);
    const code = await new Promise((resolve) => child.once('close', resolve));
    equal(code, 0, `${script}\n${out}\n${told}`);
    this.directory = /now in (.+)\n$/.exec(told)?.[1] ?? this.directory;
    // Pages do not repeat the messages of npm, the lines of the log and what Node 22 says about SQLite.
    const left =
      /^(?:npm |now in |\d\d:\d\d:\d\d warn |\(node:\d+\) ExperimentalWarning: SQLite|\(Use `node --trace-warnings)/;
    const shown = told.split('\n').filter((line) => !left.test(line));
    return out + shown.join('\n');
  }

  #start(script: string): ChildProcess {
    const child = spawn('bash', ['-c', script], {
      cwd: this.directory,
      env: this.#environment,
      detached: true,
    });
    child.stdout.setEncoding('utf8');
    child.stderr.setEncoding('utf8');
    return child;
  }

  #here(text: string): string {
    return [...this.#addresses].reduce((so, [from, to]) => so.replaceAll(from, to), text);
  }

  #there(text: string): string {
    return [...this.#addresses].reduce((so, [to, from]) => so.replaceAll(from, to), text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#background) {
      if (child.exitCode !== null || child.pid === undefined) continue;
      const gone = new Promise((resolve) => child.once('close', resolve));
      process.kill(-child.pid, 'SIGTERM');
      await gone;
    }
  }
}

/** Polls for a value for half a minute. */
export async function until<T>(find: () => T | undefined, problem: () => string): Promise<T> {
  const end = performance.now() + 30_000;
  for (;;) {
    const found = find();
    if (found !== undefined) return found;
    if (performance.now() > end) throw new Error(problem());
    await setTimeout(50);
  }
}
