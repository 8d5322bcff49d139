import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { agent, completed, textOf } from '../../src/agents/index.ts';
import { busLink, hostOnBus, openBus } from '../../src/bus/index.ts';
import { joinPeers } from '../../src/peers/index.ts';
import { openStore } from '../../src/store/index.ts';
import { median } from '../bench.ts';
import { atMost, type Row } from '../row.ts';

const [few, many] = [10, 100_000];
/** Calls in flight while the stores are filled, and sequential calls of one round. */
const [concurrency, callsPerRound] = [64, 200];
const caller = { tenant: '', subject: 'user', method: 'bench' };
/** The calls of one conversation. */
const callsPerConversation = 10;

/** A caller and its peer, each with its own store. */
interface Pair extends AsyncDisposable {
  call(): Promise<void>;
}

/** Calls to a peer by a caller with few or many earlier calls, in one process on the memory bus. */
export const invocations: Row = {
  name: 'invocations',
  title: `a call to a peer, SQLite, after ${many.toLocaleString('en')} earlier calls and after ${few}`,
  async run({ options: { rounds } }) {
    const directory = await mkdtemp(join(tmpdir(), 'bench-'));
    try {
      await using young = await openPair(join(directory, 'young'));
      await using old = await openPair(join(directory, 'old'));
      await fill(young, few);
      const startedAt = performance.now();
      await fill(old, many);
      const filledIn = (performance.now() - startedAt) / 1000;
      const measured: { young: number; old: number }[] = [];
      // In turns, so that a slow moment of the machine affects both.
      for (let round = 0; round < rounds * 5; round += 1) {
        measured.push({ young: await medianCall(young), old: await medianCall(old) });
      }
      return {
        notes: {
          'after 10, median ms': median(measured.map((each) => each.young)),
          'after 100,000, median ms': median(measured.map((each) => each.old)),
          'calls/s while they were made': many / filledIn,
        },
        verdicts: [
          atMost(
            'time of a call after 100,000, of one after 10',
            median(measured.map((each) => each.old / each.young)),
            1.2,
            'x',
          ),
        ],
      };
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  },
};

async function openPair(path: string): Promise<Pair> {
  const opened = new AsyncDisposableStack();
  const bus = opened.use(await openBus({ type: 'memory' }));
  const echo = agent({ name: 'echo' }, (turn) => completed(textOf(turn.message)));
  const hosted = { bus, concurrency, store: { type: 'sqlite', path: `${path}-echo.db` } } as const;
  opened.use(await hostOnBus(echo, hosted));
  const store = await openStore({ type: 'sqlite', path: `${path}-caller.db` });
  opened.defer(() => store.close());
  const network = opened.use(
    await joinPeers({
      name: 'caller',
      store,
      links: [busLink({ bus })],
      wellKnown: [{ name: 'echo' }],
      maxInFlight: concurrency,
    }),
  );
  let count = 0;
  return {
    async call() {
      const message = `call ${(count += 1)}`;
      const session = { id: `chat-${Math.floor(count / callsPerConversation)}`, caller };
      const said = await network.call({ agent: 'echo', skill: 'echo', message }, session);
      if (said.state !== 'completed' || said.text !== message) {
        throw new Error(`${message} was answered with ${JSON.stringify(said)}`);
      }
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

async function fill(pair: Pair, count: number): Promise<void> {
  let left = count;
  const work = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await pair.call();
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, count) }, work));
}

async function medianCall(pair: Pair): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < callsPerRound; count += 1) {
    const startedAt = performance.now();
    await pair.call();
    times.push(performance.now() - startedAt);
  }
  return median(times);
}
