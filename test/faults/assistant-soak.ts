/**
 * An assistant with custom actions at full rate: the bank of the examples as a process with a small
 * heap, its actions on a server, conversations over the REST channel. Every turn is answered as the
 * books say, and memory stays level.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { Agent, createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Random } from './random.ts';
import type { Scenario } from './scenario.ts';

const root = join(import.meta.dirname, '../..');
const turns = 100_000;
/** Held at a time. */
const conversations = 16;
const heapMiB = 256;
/** RSS over the last half of the turns, in MiB for every 10,000 of them. */
const mostGrowth = 1;
/**
 * The same for a run that its time ends earlier: until about 50,000 turns V8's heap settles, which
 * takes up to 6 MiB. Timers that stay take 19 MiB.
 */
const mostGrowthEarly = 12;
const fewestToJudge = 20_000;
const sampleEvery = 500;

/** Ends after 100,000 turns, or when the time is over. */
export const assistantSoak: Scenario = async ({ seed, milliseconds, report }) => {
  await using actions = await startActions();
  await using bank = await startBank(actions.url);
  const random = new Random(seed);
  const violations: string[] = [];
  const samples: Sample[] = [];
  const started = performance.now();
  let asked = 0;
  let answered = 0;
  let sessions = 0;

  const isOver = (): boolean =>
    asked >= turns || performance.now() - started >= milliseconds || violations.length > 20;

  const count = (): void => {
    answered += 1;
    if (answered % sampleEvery !== 0) return;
    samples.push({ turns: answered, rss: bank.rss() });
    if (answered % 10_000 !== 0) return;
    const rate = answered / ((performance.now() - started) / 1000);
    report(`${answered} turns, ${rate.toFixed(0)}/s, RSS ${samples.at(-1)?.rss.toFixed(1)} MiB`);
  };

  /** Conversations one after the other, each with an account of its own. */
  const talk = async (): Promise<void> => {
    while (!isOver()) {
      const sender = `user-${(sessions += 1)}`;
      const amount = random.between(1, 1_000);
      for (const [message, expected] of dialogue(amount)) {
        asked += 1;
        const text = await bank.ask(sender, message).catch((error: unknown) => String(error));
        if (text.includes(expected)) count();
        else violations.push(`${sender}: "${message}" was answered "${text}", not "${expected}"`);
      }
    }
  };

  await Promise.all(Array.from({ length: conversations }, talk));
  const growth = slope(samples.slice(samples.length / 2)) * 10_000;
  const most = answered >= turns ? mostGrowth : mostGrowthEarly;
  if (answered >= fewestToJudge && growth >= most) {
    violations.push(`RSS grows by ${growth.toFixed(2)} MiB every 10,000 turns`);
  }
  const seconds = (performance.now() - started) / 1000;
  const [first, last] = [samples[0]?.rss ?? 0, samples.at(-1)?.rss ?? 0];
  report(
    `${answered} turns in ${seconds.toFixed(0)} s, RSS ${first.toFixed(1)} to ${last.toFixed(1)} MiB, ` +
      `slope over the last half ${growth.toFixed(3)} MiB per 10,000 turns`,
  );
  if (actions.count() < answered) violations.push(`only ${actions.count()} actions were run`);
  const code = await bank.stop();
  if (code !== 0) violations.push(`the server ended with ${code}: ${bank.errors()}`);
  return {
    injected: { turns: asked, conversations: sessions, heapMiB },
    checked: { answers: answered, actions: actions.count(), samples: samples.length },
    violations,
  };
};

/** What is said, and words of the answer. */
function dialogue(amount: number): readonly (readonly [message: string, expected: string])[] {
  return [
    ['what is my balance?', 'You have 1250 euros'],
    [`send ${amount} to Ann`, `${amount} euros to Ann`],
    ['yes', 'anything else'],
    ['what is my balance?', `You have ${1250 - amount} euros`],
  ];
}

interface Sample {
  readonly turns: number;
  /** MiB. */
  readonly rss: number;
}

/** MiB for each turn, by least squares. */
function slope(samples: readonly Sample[]): number {
  const mean = (of: (sample: Sample) => number): number =>
    samples.reduce((sum, sample) => sum + of(sample), 0) / samples.length;
  const [turnsMean, rssMean] = [mean((one) => one.turns), mean((one) => one.rss)];
  const covariance = mean((one) => (one.turns - turnsMean) * (one.rss - rssMean));
  return covariance / mean((one) => (one.turns - turnsMean) ** 2) || 0;
}

/** An action server as rasa_sdk has it: `POST /webhook` with the name of the action and the tracker. */
async function startActions() {
  let calls = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      calls += 1;
      const { next_action: name, tracker } = JSON.parse(Buffer.concat(chunks).toString()) as {
        readonly next_action: string;
        readonly tracker: { readonly slots: Readonly<Record<string, number>> };
      };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(run(name, tracker.slots)));
    });
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhook`,
    count: () => calls,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function run(action: string, slots: Readonly<Record<string, number>>) {
  const { balance = 0, amount = 0 } = slots;
  const set = (name: string, value: number) => ({ event: 'slot', name, value, timestamp: null });
  switch (action) {
    case 'action_show_balance':
      return { events: [], responses: [{ response: 'utter_balance' }] };
    case 'validate_amount':
      return { events: [set('amount', amount)], responses: [] };
    case 'action_make_transfer':
      return { events: [set('balance', balance - amount)], responses: [] };
    default:
      return { events: [], responses: [] };
  }
}

/** The bank as a process, with a store of its own and without actions of its own. */
async function startBank(actions: string) {
  const bank = join(root, 'examples/bank');
  const directory = await mkdtemp(join(tmpdir(), 'legate-soak-'));
  for (const name of ['config.yml', 'credentials.yml', 'data', 'domain', 'savings', 'sub_agents']) {
    await symlink(join(bank, name), join(directory, name));
  }
  const endpoints = await readFile(join(bank, 'endpoints.yml'), 'utf8');
  const remote = endpoints.replace(/actions_module: .*/, `url: ${actions}`);
  await writeFile(join(directory, 'endpoints.yml'), remote);
  const flags = [`--max-old-space-size=${heapMiB}`, '--max-semi-space-size=16'];
  const command = [join(root, 'bin/legate.cjs'), 'run', directory, '--port', '0'];
  const child = spawn(process.execPath, [...flags, ...command], { cwd: directory });
  let [out, errors] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const ended = once(child, 'close').then(() => child.exitCode);
  const address = /http:\/\/(?:localhost|127\.0\.0\.1):(\d+)/;
  const deadline = performance.now() + 60_000;
  while (!address.test(out + errors)) {
    if (child.exitCode !== null || performance.now() > deadline) {
      child.kill('SIGKILL');
      throw new Error(`the bank did not start: ${out}${errors}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const port = Number(address.exec(out + errors)?.[1]);
  const agent = new Agent({ keepAlive: true, maxSockets: conversations });
  return {
    errors: () => errors.slice(-2_000),
    ask: (sender: string, message: string) => post(agent, port, { sender, message }),
    rss: () => {
      const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'));
      return Number(kilobytes?.[1]) / 1024;
    },
    stop: async () => {
      agent.destroy();
      child.kill('SIGTERM');
      return await ended;
    },
    [Symbol.asyncDispose]: async () => {
      agent.destroy();
      child.kill('SIGKILL');
      await ended;
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Sends a message to the REST channel; the texts of the answer, line by line. */
function post(agent: Agent, port: number, body: object): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  const path = '/webhooks/rest/webhook';
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { agent, host: '127.0.0.1', port, path, method: 'POST', headers, timeout: 60_000 },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
        response.on('error', reject);
        response.on('end', () => {
          if (response.statusCode !== 200) return resolve(`${response.statusCode} ${text}`);
          const messages = JSON.parse(text) as readonly { readonly text?: string }[];
          resolve(messages.map((one) => one.text ?? '').join('\n'));
        });
      },
    );
    request.on('timeout', () => request.destroy(new Error('no answer within 60 s')));
    request.on('error', reject);
    request.end(JSON.stringify(body));
  });
}
