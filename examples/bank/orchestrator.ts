import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  defineAction,
  InProcessActions,
  type ProjectPlaces,
  serveAssistant,
} from 'legate/assistant';
import { type Client, connect } from 'legate/client';
import { type JsonObject, message, type MessageOptions, type Task } from 'legate';
import * as bankActions from './actions/index.ts';

/** The effects of the bank on a transfer, as the check controls and counts them. */
class Counter extends EventTarget {
  transfers = 0;

  /** The bank's own actions, with a transfer that fails for one recipient and waits for another. */
  actions(): InProcessActions {
    const { makeTransfer, ...others } = bankActions;
    const counted = defineAction({
      name: 'action_make_transfer',
      run: async (call) => {
        this.transfers += 1;
        if (call.slots['recipient'] === 'Nobody') throw new Error('the counter is closed');
        if (call.slots['recipient'] === 'Patience') {
          const opened = once(this, 'open', { signal: call.signal });
          this.dispatchEvent(new Event('waiting'));
          await opened;
        }
        await makeTransfer.run(call);
      },
    });
    return new InProcessActions([counted, ...Object.values(others)]);
  }
}

/** An orchestrator, as an A2A client of the bank. */
class Orchestrator {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  async say(contextId: string, text: string, options: MessageOptions = {}): Promise<Task> {
    const answer = await this.#client.sendMessage(message(text, { contextId, ...options }));
    assert('task' in answer);
    return answer.task;
  }

  /** Starts a transfer that waits for confirmation. */
  async confirming(contextId: string, slots: JsonObject): Promise<Task> {
    const asked = await this.say(contextId, 'I want to send money', { metadata: { slots } });
    assert.equal(stateOf(asked)['active_flow'], 'transfer_money');
    return asked;
  }

  cancel(id: string): Promise<Task> {
    return this.#client.cancelTask(id);
  }
}

function stateOf({ status }: Task): JsonObject {
  return (status.message?.parts[0]?.data ?? {}) as JsonObject;
}

function wordsOf({ status }: Task): string {
  return (status.message?.parts ?? []).map(({ text }) => text ?? '').join(' ');
}

/**
 * Checks the bank as an orchestrator uses it: questions, answers and the final state; duplicates, a
 * cancellation, a failure, slots that the orchestrator sets, and a long pause. Returns the number of
 * transfers.
 */
export async function overA2a(
  places: ProjectPlaces,
  environment: NodeJS.ProcessEnv,
): Promise<number> {
  const counter = new Counter();
  let now = Date.now();
  await using serving = await serveAssistant({
    places,
    environment,
    store: { type: 'memory' },
    build: { actions: counter.actions(), clock: { now: () => now } },
  });
  const orchestrator = new Orchestrator(await connect(serving.url));
  await sends(orchestrator);
  await replays(orchestrator, counter);
  await refusesRepeats(orchestrator, counter, serving.url);
  await cancels(orchestrator);
  await fails(orchestrator);
  await seeds(orchestrator);
  const asked = await orchestrator.confirming('pause', { recipient: 'Ann', amount: 20 });
  assert.equal(asked.status.state, 'TASK_STATE_INPUT_REQUIRED');
  now += 61 * 60_000;
  const sent = await orchestrator.say('pause', 'yes');
  assert.match(wordsOf(sent), /20 euros are on their way to Ann/);
  return counter.transfers;
}

async function sends(orchestrator: Orchestrator): Promise<void> {
  const asked = await orchestrator.say('one', 'send 50 to Ann');
  assert.equal(asked.status.state, 'TASK_STATE_INPUT_REQUIRED');
  assert.equal(stateOf(asked)['active_flow'], 'transfer_money');
  const sent = await orchestrator.say('one', 'yes');
  assert.equal(sent.status.state, 'TASK_STATE_COMPLETED');
  assert.deepEqual(stateOf(sent)['persisted_slots'], { transfer_status: 'sent' });
  const refused = await orchestrator.say('two', 'paint my house');
  assert.equal(refused.status.state, 'TASK_STATE_REJECTED');
}

/** A duplicate message gets the same response, and transfers nothing twice. */
async function replays(orchestrator: Orchestrator, counter: Counter): Promise<void> {
  await orchestrator.confirming('replay', { recipient: 'Ann', amount: 10 });
  const before = counter.transfers;
  const first = await orchestrator.say('replay', 'yes', { messageId: 'same' });
  const again = await orchestrator.say('replay', 'yes', { messageId: 'same' });
  assert.deepEqual(again, first);
  assert.equal(counter.transfers, before + 1);
}

/** A duplicate message while the first one is in flight. */
async function refusesRepeats(
  orchestrator: Orchestrator,
  counter: Counter,
  url: string,
): Promise<void> {
  await orchestrator.confirming('busy', { recipient: 'Patience', amount: 10 });
  const waiting = once(counter, 'waiting');
  const first = orchestrator.say('busy', 'yes', { messageId: 'busy' });
  await waiting;
  const parts = [{ kind: 'text', text: 'yes' }];
  const repeat = { kind: 'message', role: 'user', messageId: 'busy', contextId: 'busy', parts };
  const { status } = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'message/send',
      params: { message: repeat },
    }),
  });
  counter.dispatchEvent(new Event('open'));
  assert.equal(status, 409);
  assert.equal((await first).status.state, 'TASK_STATE_COMPLETED');
}

/** A question whose task the orchestrator cancels. */
async function cancels(orchestrator: Orchestrator): Promise<void> {
  const asked = await orchestrator.confirming('cancel', { recipient: 'Ann', amount: 10 });
  const cancelled = await orchestrator.cancel(asked.id);
  assert.equal(cancelled.status.state, 'TASK_STATE_CANCELED');
  assert.deepEqual(stateOf(cancelled)['canceled_flows'], ['transfer_money']);
  const anew = await orchestrator.say('cancel', 'I want to send money');
  assert.match(wordsOf(anew), /Who is the money for/);
}

async function fails(orchestrator: Orchestrator): Promise<void> {
  await orchestrator.confirming('failure', { recipient: 'Nobody', amount: 10 });
  const failed = await orchestrator.say('failure', 'yes');
  assert.equal(failed.status.state, 'TASK_STATE_FAILED');
  assert.equal(stateOf(failed)['error_type'], 'action_failed');
  assert.doesNotMatch(JSON.stringify(failed), /counter is closed/);
}

/**
 * The user's words override data parts, and data parts override metadata. Changed values are confirmed
 * again.
 */
async function seeds(orchestrator: Orchestrator): Promise<void> {
  const asked = await orchestrator.say('seeds', 'send money to Ann', {
    metadata: { slots: { recipient: 'Mallory', amount: 30 } },
  });
  assert.match(wordsOf(asked), /Shall I send 30 euros to Ann/);
  const refused = await orchestrator.say('seeds', 'yes', { metadata: { slots: { amount: -700 } } });
  assert.equal(refused.status.state, 'TASK_STATE_INPUT_REQUIRED');
  assert.match(wordsOf(refused), /more than zero/);
  const changed = await orchestrator.say('seeds', '40', {
    metadata: { slots: { recipient: 'Bob' } },
  });
  assert.match(wordsOf(changed), /Shall I send 40 euros to Bob/);
  const sent = await orchestrator.say('seeds', 'yes');
  assert.match(wordsOf(sent), /40 euros are on their way to Bob/);
}
