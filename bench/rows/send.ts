import { sendMessage } from '../requests.ts';
import { atLeast, besideSdk, ratio, type Row } from '../row.ts';

/** A message in, a completed task with one artifact out. */
export const send: Row = {
  name: 'send',
  title: 'send, in memory',
  async run(bench) {
    const figures = await bench.compare(['raw', ...bench.sdks, 'memory'], ({ port }) =>
      sendMessage(port),
    );
    const { verdict, notes } = besideSdk(figures, 'memory', 3);
    return {
      figures,
      notes: {
        ...notes,
        'server CPU per request, of raw node:http': ratio(figures, 'cpuMicros', 'memory', 'raw'),
      },
      verdicts: [verdict],
    };
  },
};

/** The same, with every task flushed to disk before the response. */
export const sendSqlite: Row = {
  name: 'send-sqlite',
  title: 'send, SQLite with synchronous=FULL',
  async run(bench) {
    const figures = await bench.compare([...bench.sdks, 'sdk-sqlite', 'sqlite'], ({ port }) =>
      sendMessage(port),
    );
    const { verdict, notes } = besideSdk(figures, 'sqlite', 1.5);
    const perSecond = ratio(figures, 'requestsPerSecond', 'sqlite', 'sdk-sqlite');
    return {
      figures,
      notes,
      verdicts: [
        { ...verdict, claim: 'requests/s, of the official SDK in memory' },
        atLeast('requests/s, of the official SDK on SQLite', perSecond, 8, 'x'),
      ],
    };
  },
};
