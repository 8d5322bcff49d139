import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Client, connect } from 'legate/client';
import { message, type Task } from 'legate';
import type { Company } from './company.ts';
import { newTokenKey, publicKeysPem, tokenFor } from './keys.ts';
import { fetchText } from './service.ts';

/** A customer at the gateway. With a trace id, every request belongs to that trace. */
export async function customerOf(
  { gatewayUrl, secrets }: Company,
  traceId?: string,
): Promise<Client> {
  const traceparent = `00-${traceId}-${randomBytes(8).toString('hex')}-01`;
  return connect(gatewayUrl, {
    auth: { apiKey: { name: 'X-Api-Key', value: secrets.CUSTOMER_KEY } },
    ...(traceId !== undefined && { headers: { traceparent } }),
  });
}

/** Sends a message to the task, or starts a task; waits for the response. */
async function say(client: Client, text: string, task?: Task): Promise<Task> {
  const about = task === undefined ? {} : { taskId: task.id, contextId: task.contextId };
  const sent = await client.sendAndWait(message(text, about), { timeoutMs: 120_000 });
  assert('task' in sent);
  return sent.task;
}

function textsOf({ status, artifacts = [] }: Task): string {
  const parts = [...artifacts.flatMap(({ parts: own }) => own), ...(status.message?.parts ?? [])];
  return parts.flatMap(({ text = '' }) => (text === '' ? [] : [text])).join('\n');
}

function assertAsks(task: Task, question: RegExp): void {
  assert.equal(task.status.state, 'TASK_STATE_INPUT_REQUIRED', textsOf(task));
  assert.match(textsOf(task), question);
}

/** The questions of the Python agent pass three hops to the customer, and the answers pass them back. */
export async function askForLoan(client: Client, amount = 5000): Promise<Task> {
  const asked = await say(client, 'I want a loan');
  assertAsks(asked, /^How much do you want to borrow, in euros\?$/);
  assertAsks(await say(client, String(amount), asked), /^Over how many months\?$/);
  return asked;
}

async function finishLoan(client: Client, asked: Task): Promise<void> {
  const offered = await say(client, '24', asked);
  assertAsks(offered, /euros over 24 months cost [\d.]+ euros a month\.\nShould a colleague call/);
  const { status } = await say(client, 'no', asked);
  assert.equal(status.state, 'TASK_STATE_COMPLETED');
}

/** One conversation through the Python agent. */
export async function loan(client: Client, amount?: number): Promise<void> {
  await finishLoan(client, await askForLoan(client, amount));
}

/** One conversation through the ReAct agent and its MCP server. */
async function savings(client: Client): Promise<void> {
  const asked = await say(client, 'open a savings account');
  assertAsks(asked, /^Might you need the money within two years\?$/);
  assertAsks(await say(client, 'yes', asked), /"instant" suits you\. Shall I open it\?/);
  const opened = await say(client, 'yes', asked);
  assert.equal(opened.status.state, 'TASK_STATE_COMPLETED');
  assert.match(textsOf(opened), /number SI-\d+/);
}

async function doctor(company: Company): Promise<string> {
  const project = [join(import.meta.dirname, '../bank'), '--port', '0'];
  const here = join(import.meta.dirname, 'bank');
  const files = [
    '--endpoints',
    join(here, 'endpoints.yml'),
    '--sub-agents',
    join(here, 'sub_agents'),
  ];
  const tls = ['--ssl-certificate', join(company.keys, 'bank.pem')];
  const key = ['--ssl-keyfile', join(company.keys, 'bank.key')];
  const report = await company.run(
    'bank1',
    'doctor',
    ...project,
    ...files,
    ...tls,
    ...key,
    '--json',
  );
  const findings = JSON.parse(report) as readonly { readonly outcome: string }[];
  assert.deepEqual(
    findings.filter(({ outcome }) => outcome === 'failed'),
    [],
  );
  return `legate doctor made ${findings.length} checks of the bank, and none failed`;
}

async function conversations(company: Company): Promise<string> {
  const stranger = connect(company.gatewayUrl).then((client) => client.sendMessage('hello'));
  await assert.rejects(stranger, { code: 'UNAUTHENTICATED' });
  const customer = await customerOf(company);
  await loan(customer);
  await savings(customer);
  return 'a customer got a loan and a savings account through gateway, bus, desk, proxy, bank and its sub agents';
}

async function oneTrace(company: Company): Promise<string> {
  const traceId = randomBytes(16).toString('hex');
  const customer = await customerOf(company, traceId);
  await loan(customer);
  await savings(customer);
  const spansOf = () => company.collector.spans.filter((span) => span.traceId === traceId);
  const expected = ['bank', 'desk', 'gateway', 'loans'];
  const orphans = () => {
    const known = new Set(spansOf().map(({ spanId }) => spanId));
    const isKnown = ({ parentSpanId = '' }: { readonly parentSpanId?: string }) =>
      known.has(parentSpanId);
    return spansOf().filter((span) => !isKnown(span) && span.service !== 'gateway');
  };
  const isWhole = () =>
    expected.every((name) => spansOf().some(({ service }) => service === name)) &&
    orphans().length === 0 &&
    spansOf().some(({ name }) => name === 'execute_tool list_savings_products');
  for (let attempt = 0; attempt < 300 && !isWhole(); attempt += 1) await delay(100);
  const services = [...new Set(spansOf().map(({ service }) => String(service)))].sort();
  assert.deepEqual(services, expected);
  assert.deepEqual(
    orphans().map(({ service, name }) => [service, name]),
    [],
  );
  return `one trace has ${spansOf().length} spans of ${services.join(', ')}, each with its parent`;
}

async function metrics(company: Company): Promise<string> {
  const headers = { authorization: `Bearer ${company.secrets.METRICS_TOKEN}` };
  const expected = {
    bank: /legate_turns_total\{[^}]*agent="harbour_bank"/,
    desk: /legate_turns_total\{[^}]*agent="desk"/,
    gateway: /legate_request_duration_seconds_count\{/,
  };
  // The unauthenticated request of the conversations.
  const denials: Readonly<Record<string, readonly string[]>> = {
    gateway: ['legate_http_denied_total{code="UNAUTHENTICATED"} 1'],
  };
  const texts = new Map<string, string>();
  for (const [name, url] of company.metricsUrls) {
    const { status, text } = await fetchText(url, { ca: company.ca, headers });
    assert.equal(status, 200, name);
    const kind = name.replace(/\d$/, '');
    texts.set(kind, `${texts.get(kind) ?? ''}${text}`);
    // A worker has no callers; its metrics are also open to local requests.
    if (kind === 'desk') continue;
    const denied = await fetchText(url, { ca: company.ca });
    assert.equal(denied.status, 401, `${name} shows its metrics without a credential`);
  }
  for (const [kind, pattern] of Object.entries(expected)) {
    assert.match(texts.get(kind) ?? '', pattern);
    // Valid traffic is not denied, even where an agent requires a token for its card. The unauthenticated
    // request for metrics above came after these numbers.
    const denied = (texts.get(kind) ?? '').match(/^legate_http_denied_total\{.*$/gm) ?? [];
    assert.deepEqual(denied, denials[kind] ?? [], `${kind} denied requests of healthy callers`);
  }
  return `${company.metricsUrls.size} processes show their metrics to the token of Prometheus`;
}

async function cancels(company: Company): Promise<string> {
  const customer = await customerOf(company);
  const asked = await askForLoan(customer, 200_000);
  const before = canceledBelow(company);
  const answer = say(customer, '24', asked);
  await untilCalled(company);
  await customer.cancelTask(asked.id);
  assert.equal((await answer).status.state, 'TASK_STATE_CANCELED');
  for (let attempt = 0; attempt < 300 && canceledBelow(company) === before; attempt += 1) {
    await delay(100);
  }
  assert.equal(canceledBelow(company), before + 1);
  return 'a cancel at the gateway reached the Python agent';
}

function canceledBelow(company: Company): number {
  return company.service('loans').output.split('canceled').length;
}

/** Waits until the credit check of a large loan is running. */
async function untilCalled(company: Company): Promise<void> {
  const count = () => company.service('loans').output.split('credit check').length;
  const before = count();
  for (let attempt = 0; attempt < 600 && count() === before; attempt += 1) await delay(50);
  assert.notEqual(count(), before, 'the Python agent was not called');
}

async function kills(company: Company): Promise<string> {
  const customers = await Promise.all([1, 2, 3, 4].map(() => customerOf(company)));
  const asked = await Promise.all(customers.map((customer) => askForLoan(customer, 300_000)));
  const called = untilCalled(company);
  const answers = asked.map((task, index) => finishLoan(customers[index] as Client, task));
  await called;
  const killed = ['bank1', 'desk1'].map((name) => company.service(name));
  await Promise.all(killed.map((service) => service.kill()));
  await Promise.all(answers);
  await Promise.all(killed.map((service) => service.start()));
  return '4 conversations went on after a replica of the bank and a worker were killed';
}

async function rollingRestart(company: Company): Promise<string> {
  const customer = await customerOf(company);
  const restarted = new AbortController();
  let count = 0;
  const traffic = [1, 2].map(async () => {
    while (!restarted.signal.aborted) {
      await loan(customer);
      count += 1;
    }
  });
  const restarts = async () => {
    try {
      for (const name of ['bank1', 'bank2', 'desk1', 'desk2']) {
        await company.service(name).stop();
        await company.service(name).start();
      }
    } finally {
      restarted.abort();
    }
  };
  await Promise.all([restarts(), ...traffic]);
  assert(count > 0);
  return `${count} conversations passed a rolling restart of replicas and workers`;
}

async function rotatesKeys(company: Company): Promise<string> {
  const { bankUrl, ca, keys, tokenKey } = company;
  const [old, next] = [tokenKey, newTokenKey()];
  const banks = ['bank1', 'bank2'].map((name) => company.service(name));
  const accept = async (...accepted: (typeof old)[]) => {
    writeFileSync(join(keys, 'tokens.pem'), publicKeysPem(accepted));
    const before = banks.map(({ output }) => output.split('SIGHUP').length);
    for (const bank of banks) bank.signal('SIGHUP');
    for (const [index, bank] of banks.entries()) {
      while (bank.output.split('SIGHUP').length === before[index]) await delay(50);
    }
  };
  const statusWith = async (key: typeof old): Promise<number> => {
    const headers = { authorization: `Bearer ${await tokenFor('desk', key)}` };
    const url = `${bankUrl}/.well-known/agent-card.json`;
    return (await fetchText(url, { ca, headers })).status;
  };
  const both = async (): Promise<readonly number[]> => {
    const answers = [];
    // The proxy uses round robin: each key is sent to both replicas.
    for (const key of [old, old, next, next]) answers.push(await statusWith(key));
    return answers;
  };
  assert.deepEqual(await both(), [200, 200, 401, 401]);
  await accept(old, next);
  assert.deepEqual(await both(), [200, 200, 200, 200]);
  await loan(await customerOf(company));
  await accept(next);
  assert.deepEqual(await both(), [401, 401, 200, 200]);
  await accept(old);
  return 'the bank took a new key beside the old one, and then gave the old one up, without a restart';
}

/** In this order: later checks rely on the results of earlier ones. */
export const checks: readonly ((company: Company) => Promise<string>)[] = [
  doctor,
  conversations,
  oneTrace,
  metrics,
  cancels,
  rotatesKeys,
  kills,
  rollingRestart,
];
