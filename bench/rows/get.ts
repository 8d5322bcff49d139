import { call, getTask, userMessage } from '../requests.ts';
import { atLeast, cpuNotes, ratio, type Row } from '../row.ts';

const tasks = 500;

/** Tasks read by id, one after the other of many. */
export const get: Row = {
  name: 'get',
  title: `get, ${tasks} tasks in memory`,
  async run(bench) {
    const figures = await bench.compare(['raw', 'sdk', 'memory'], async ({ port }) =>
      getTask(port, await makeTasks(port)),
    );
    return {
      figures,
      notes: cpuNotes(figures, 'memory'),
      verdicts: [
        atLeast(
          'requests/s, of the official SDK',
          ratio(figures, 'requestsPerSecond', 'memory', 'sdk'),
          6,
          'x',
        ),
      ],
    };
  },
};

async function makeTasks(port: number): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let index = 0; index < tasks; index += 1) {
    const message = userMessage(`get-${index}`, 'Keep this in mind.');
    const { task } = (await call(port, 'SendMessage', { message })) as { task: { id: string } };
    ids.push(task.id);
  }
  return ids;
}
