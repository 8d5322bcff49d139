import { startHelper } from '../ipc.ts';
import { atMost, type Row } from '../row.ts';
import type { AgentQuestion } from '../servers/agents.ts';
import type { Delays, ReadingJob } from '../token-reader.ts';

const streams = 200;
const tokens = 250;
/** Tokens of each stream that are not counted. */
const warmUp = 50;

/** Measures the overhead of the framework, with a model that takes no time. */
export const agents: Row = {
  name: 'agents',
  title: `agents: a step of the loop, an idle session, ${streams} streams of 50 tokens/s`,
  async run() {
    // Not pinned to a processor: the row measures time, and V8 collects garbage on other threads.
    const { helper, ready } = await startHelper<AgentQuestion, number, { port: number }>({
      file: 'servers/agents.ts',
    });
    const { helper: reader } = await startHelper<ReadingJob, Delays, unknown>({
      file: 'token-reader.ts',
    });
    try {
      const stepMicros = await helper.ask({ kind: 'step', runs: 500, isResumable: true });
      const plainMicros = await helper.ask({ kind: 'step', runs: 500, isResumable: false });
      const idleBytes = await helper.ask({ kind: 'idle', sessions: 2_000 });
      const job = { port: ready.port, streams, tokens, warmUp };
      // The first streams of a process run while V8 compiles their code.
      await reader.ask({ ...job, tokens: warmUp, warmUp: 0 });
      const before = await helper.ask({ kind: 'cpu' });
      const { median, p99 } = await reader.ask(job);
      const cpuMicros = (await helper.ask({ kind: 'cpu' })) - before;
      return {
        notes: {
          'step, CPU us': stepMicros,
          'step without a journal, CPU us': plainMicros,
          'idle session, bytes': idleBytes,
          'token delay p50, ms': median,
          'token delay p99, ms': p99,
          'token, server CPU us': cpuMicros / (streams * tokens),
        },
        verdicts: [
          atMost('CPU of a step', stepMicros / 1000, 0.15, 'ms'),
          atMost('memory of an idle session', idleBytes / 1024, 10, 'KiB'),
          atMost('token delay p99', p99, 50, 'ms'),
        ],
      };
    } finally {
      await reader.stop();
      await helper.stop();
    }
  },
};
