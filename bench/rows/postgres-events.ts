import { call, userMessage } from '../requests.ts';

const tasks = 20;
const events = 60;
const pauseMs = 15;

export interface Delays {
  readonly p50: number;
  readonly p99: number;
}

/**
 * The delay of events from the agent to subscribers, in milliseconds: to a subscriber of the replica that
 * runs the turn, and to one of another replica. Both subscribe to the same events.
 */
export async function eventDelays(
  ports: readonly number[],
): Promise<{ readonly same: Delays; readonly other: Delays }> {
  const [here = 0, there = 0] = ports;
  const same: number[] = [];
  const other: number[] = [];
  await Promise.all(
    Array.from({ length: tasks }, async () => {
      const { task } = (await call(here, 'SendMessage', {
        message: userMessage(crypto.randomUUID(), `ticks ${events} ${pauseMs}`),
        configuration: { returnImmediately: true },
      })) as { readonly task: { readonly id: string } };
      await Promise.all([follow(here, task.id, same), follow(there, task.id, other)]);
    }),
  );
  return { same: summary(same), other: summary(other) };
}

/** Records the age of each event on arrival. */
async function follow(port: number, taskId: string, ages: number[]): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/tasks/${taskId}:subscribe`, {
    headers: { 'a2a-version': '1.0' },
  });
  if (!response.ok || response.body === null) throw new Error(await response.text());
  let text = '';
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    const now = performance.timeOrigin + performance.now();
    text += piece;
    const frames = text.split('\n\n');
    text = frames.pop() ?? '';
    for (const frame of frames) {
      // The first frame is a snapshot: events before the subscription are not counted.
      if (!frame.includes('artifactUpdate')) continue;
      const made = /made ([\d.]+)/.exec(frame)?.[1];
      if (made !== undefined) ages.push(now - Number(made));
    }
  }
}

function summary(ages: readonly number[]): Delays {
  const sorted = [...ages].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}
