import { sendMessage } from '../requests.ts';
import { atLeast, atMost, cpuNotes, ratio, type Row } from '../row.ts';

/** A message in, a completed task with one artifact out. */
export const send: Row = {
  name: 'send',
  title: 'send, in memory',
  async run(bench) {
    const figures = await bench.compare(['raw', 'sdk', 'memory'], ({ port }) => sendMessage(port));
    return {
      figures,
      notes: cpuNotes(figures, 'memory'),
      verdicts: [
        atMost(
          'server CPU per request, of raw node:http',
          ratio(figures, 'cpuMicros', 'memory', 'raw'),
          2,
          'x',
        ),
        atLeast(
          'requests/s, of the official SDK',
          ratio(figures, 'requestsPerSecond', 'memory', 'sdk'),
          5,
          'x',
        ),
      ],
    };
  },
};

/** The same with every task written to disk before it is answered. */
export const sendSqlite: Row = {
  name: 'send-sqlite',
  title: 'send, SQLite with synchronous=FULL',
  async run(bench) {
    const figures = await bench.compare(['sdk', 'sqlite'], ({ port }) => sendMessage(port));
    return {
      figures,
      notes: cpuNotes(figures, 'sqlite'),
      verdicts: [
        atLeast(
          'requests/s, of the official SDK in memory',
          ratio(figures, 'requestsPerSecond', 'sqlite', 'sdk'),
          2.5,
          'x',
        ),
      ],
    };
  },
};
