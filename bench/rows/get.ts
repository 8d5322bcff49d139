import { call, getTask, userMessage } from '../requests.ts';
import { besideSdk, type Row } from '../row.ts';

const tasks = 500;

/** Reads tasks by id, in rotation. */
export const get: Row = {
  name: 'get',
  title: `get, ${tasks} tasks in memory`,
  async run(bench) {
    const figures = await bench.compare(['raw', ...bench.sdks, 'memory'], async ({ port }) =>
      getTask(port, await makeTasks(port)),
    );
    const { verdict, notes } = besideSdk(figures, 'memory', 3);
    return { figures, notes, verdicts: [verdict] };
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
