import { call, listTasks, sendMessage } from '../requests.ts';
import { atMost, type Row } from '../row.ts';

const tasks = 100_000;
const pages = 20;
const mebibyte = 1024 * 1024;

/** A store that has been in use for a while. */
export const manyTasks: Row = {
  name: 'many-tasks',
  title: '100,000 tasks, SQLite',
  async run(bench) {
    const server = await bench.start('sqlite');
    const filling = await bench.load(sendMessage(server.port), { requests: tasks });
    const { rss, peakRss } = await server.usage();
    const tokens = await pageTokens(server.port);
    const list = await bench.load(listTasks(server.port, tokens), {
      connections: 1,
      requests: 300,
    });
    await server.stop();
    return {
      notes: {
        'peak RSS while they came in, MiB': peakRss / mebibyte,
        'tasks/s while they came in': filling.requests / filling.seconds,
        'list page, p99 ms': list.p99Ms,
      },
      verdicts: [
        atMost('RSS', rss / mebibyte, 200, 'MiB'),
        atMost('list page of 50, median', list.p50Ms, 3, 'ms'),
      ],
    };
  },
};

/** The tokens of the first pages; the first page's is empty. */
async function pageTokens(port: number): Promise<readonly string[]> {
  const tokens = [''];
  while (tokens.length < pages) {
    const page = (await call(port, 'ListTasks', {
      pageSize: 50,
      pageToken: tokens.at(-1),
    })) as { nextPageToken: string; totalSize: number };
    if (page.totalSize < tasks) throw new Error(`only ${page.totalSize} tasks were kept`);
    tokens.push(page.nextPageToken);
  }
  return tokens;
}
