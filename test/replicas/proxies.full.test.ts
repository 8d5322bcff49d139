/** The samples of deploy/ for nginx and HAProxy, in front of two replicas. */
import { expect, test } from 'vitest';
import { postgres } from '../support/postgres.ts';
import { type StartProxy, startHaproxy, startNginx } from '../support/proxies.ts';
import { type Frame, send, sendStream, subscribe } from './calls.ts';
import { Cluster } from './cluster.ts';

const proxies: readonly (readonly [name: string, start: StartProxy])[] = [
  ['nginx', startNginx],
  ['HAProxy', startHaproxy],
];

/** Reads events up to and with the first whose text contains `wanted`. */
async function until(events: AsyncGenerator<Frame>, wanted: string): Promise<readonly Frame[]> {
  const seen: Frame[] = [];
  while (seen.at(-1)?.data.includes(wanted) !== true) {
    const { value, done } = await events.next();
    if (done === true) throw new Error(`the stream ended before ${wanted}`);
    seen.push(value);
  }
  return seen;
}

function taskIdOf(frames: readonly Frame[]): string {
  const id = frames.map(({ data }) => /"taskId":"([^"]+)"/.exec(data)?.[1]).find(Boolean);
  if (id === undefined) throw new Error('no event names the task');
  return id;
}

test.each(proxies)(
  '%s passes events as they come, resumes a stream and outlives a replica',
  async (_, start) => {
    const database = await (await postgres()).database();
    await using cluster = await Cluster.start({ database });
    const [first, second] = [cluster.at(0), cluster.at(1)];
    const proxy = { ...first, url: await start([first.url, second.url]) };

    // The second chunk is made only after the first was read: nothing in between holds events back.
    const events = await sendStream(proxy, 'chunks x');
    cluster.open('x.0');
    const begun = await until(events, '"0 "');
    await events.return(undefined);

    const last = begun.at(-1)?.id ?? 0;
    const taskId = taskIdOf(begun);
    const resumed = await Promise.all([1, 2].map(() => subscribe(proxy, taskId, last)));
    cluster.open('x.1');
    for (const stream of resumed) {
      const next = await until(stream, '"1 "');
      expect(next.map(({ id }) => id)).toEqual(next.map((_event, index) => last + 1 + index));
    }
    cluster.open('x.2');
    for (const stream of resumed) await until(stream, 'TASK_STATE_COMPLETED');

    expect(await first.stop()).toBe(0);
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_unused, index) => send(proxy, `say ${index}`)),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect((await fetch(`${proxy.url}/metrics`)).status).toBe(404);
  },
);
