import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serveAssistant } from '../src/assistant/index.ts';
import { message } from '../src/protocol/index.ts';

/** A round of a conversation that returns to its initial state, so that it can repeat forever. */
const round = ['send 20 to Ann', 'make it 30', 'no', 'what is my balance?'];

export interface BankTurns extends AsyncDisposable {
  /** Sends the next message of a conversation, like an orchestrator; resolves when the task is stored. */
  next(contextId: string): Promise<void>;
}

/** The bank on SQLite in its own folder, with the generator that needs no model. */
export async function openBankTurns(): Promise<BankTurns> {
  const folder = await mkdtemp(join(tmpdir(), 'legate-bank-'));
  const serving = await serveAssistant({
    places: { directory: join(import.meta.dirname, '../examples/bank') },
    store: { type: 'sqlite', path: join(folder, 'bank.db') },
  });
  const said = new Map<string, number>();
  const call = {
    caller: { tenant: '', subject: '', method: 'anonymous' },
    version: '1.0',
  } as const;
  return {
    async next(contextId) {
      const count = said.get(contextId) ?? 0;
      said.set(contextId, count + 1);
      const text = round[count % round.length] ?? '';
      const answer = await serving.router.engine.send(
        { message: message(text, { contextId }) },
        call,
      );
      if (!('task' in answer) || answer.task.value.status.state === 'TASK_STATE_FAILED') {
        throw new Error(`"${text}" was not understood in turn ${count + 1}`);
      }
    },
    async [Symbol.asyncDispose]() {
      await serving.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export interface BankFigures {
  /** CPU of a turn, including the commit, in milliseconds. */
  readonly cpuMs: number;
  /** CPU of turns around the 1,000th of a conversation, relative to turns around the 10th. */
  readonly growth: number;
}

/** Measures the CPU of a turn of the bank, and whether it grows with the conversation. */
export async function measureBankTurns(): Promise<BankFigures> {
  await using bank = await openBankTurns();
  const conversations = ['a', 'b', 'c', 'd', 'e'];
  /** CPU of one turn, in milliseconds, averaged over this many turns of each conversation. */
  const cost = async (turns: number, prefix = ''): Promise<number> => {
    const before = process.cpuUsage();
    for (let turn = 0; turn < turns; turn += 1) {
      for (const name of conversations) await bank.next(prefix + name);
    }
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000 / (turns * conversations.length);
  };
  // V8 compiles the code during the first turns of a process.
  await cost(200, 'warm-up-');
  await cost(4);
  const early = await cost(12);
  const cpuMs = await cost(976);
  const late = await cost(12);
  return { cpuMs, growth: late / early };
}

if (import.meta.main) console.log(await measureBankTurns());
