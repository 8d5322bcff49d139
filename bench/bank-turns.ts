import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serveAssistant } from '../src/assistant/index.ts';
import { message } from '../src/protocol/index.ts';

/** A round of a conversation that ends where it began, so that it can continue forever. */
const round = ['send 20 to Ann', 'make it 30', 'no', 'what is my balance?'];

export interface BankTurns extends AsyncDisposable {
  /** Says the next sentence in a conversation, as an orchestrator would; resolves with the task stored. */
  next(contextId: string): Promise<void>;
}

/** The bank on SQLite in a folder of its own, with the generator that needs no model. */
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
  /** CPU of a turn, the commit included, in milliseconds. */
  readonly cpuMs: number;
  /** CPU of turns around the 1,000th of a conversation, of those around the 10th. */
  readonly growth: number;
}

/** What a turn of the bank costs, and whether that grows with the conversation. */
export async function measureBankTurns(): Promise<BankFigures> {
  await using bank = await openBankTurns();
  const conversations = ['a', 'b', 'c', 'd', 'e'];
  /** CPU of one turn, in milliseconds, over so many turns of each conversation. */
  const cost = async (turns: number, prefix = ''): Promise<number> => {
    const before = process.cpuUsage();
    for (let turn = 0; turn < turns; turn += 1) {
      for (const name of conversations) await bank.next(prefix + name);
    }
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000 / (turns * conversations.length);
  };
  // The first turns of a process compile what they run.
  await cost(200, 'warm-up-');
  await cost(4);
  const early = await cost(12);
  const cpuMs = await cost(976);
  const late = await cost(12);
  return { cpuMs, growth: late / early };
}

if (import.meta.main) console.log(await measureBankTurns());
