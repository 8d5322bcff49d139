import { expect, test } from 'vitest';
import { LegateError, type Task } from '../protocol/index.ts';
import { type BindingCall, type ClientBinding, connect } from './index.ts';
import { agentCard, task } from './testing/fixtures.ts';
import { webServer } from './testing/web-server.ts';

interface Seen {
  readonly place: string;
  readonly operation: string;
  readonly json: unknown;
  readonly call: BindingCall;
}

/** A binding without a wire: notes what it is told, and answers with a task or an error. */
function recording(answer: (seen: Seen) => unknown = () => task('TASK_STATE_COMPLETED')) {
  const seen: Seen[] = [];
  const log: string[] = [];
  const binding: ClientBinding = {
    binding: 'GRPC',
    locate: (address) => URL.parse(`https://${address}`) ?? undefined,
    open: ({ url: { host: place } }) => {
      log.push(`open ${place}`);
      const take = (operation: string, json: unknown, call: BindingCall): unknown => {
        seen.push({ place, operation, json, call });
        return answer({ place, operation, json, call });
      };
      return {
        call: async (...request) => take(...request),
        stream: async (...request) => {
          const events = take(...request) as readonly unknown[];
          return (async function* () {
            yield* events;
          })();
        },
        close: () => void log.push(`close ${place}`),
      };
    },
  };
  return { binding, seen, log };
}

const card = agentCard({ url: 'a.example:1', binding: 'GRPC', tenant: 'north' });

test('a binding that was given carries the JSON of the version, with tenant, headers and time', async () => {
  const { binding, seen } = recording();
  const clock = { now: () => 1_000 };
  const client = await connect(card, { bindings: [binding], auth: { bearer: 'secret' }, clock });
  expect(await client.getTask('task-1', { timeoutMs: 5_000 })).toMatchObject({ id: 'task-1' });
  expect(seen[0]).toMatchObject({ operation: 'getTask', json: { id: 'task-1', tenant: 'north' } });
  const { headers, timeoutMs } = seen[0]?.call ?? {};
  expect(timeoutMs).toBe(5_000);
  expect(Object.fromEntries(headers ?? [])).toEqual({
    authorization: 'Bearer secret',
    'a2a-version': '1.0',
  });
});

test('its streams are followed to their end, which 0.3 announces', async () => {
  const update = (state: Task['status']['state'], final: boolean) => ({
    statusUpdate: { taskId: 'task-1', contextId: 'c', status: { state }, final },
  });
  // Nothing is terminal here: that it is over is known by the word of the peer alone.
  const events = [update('TASK_STATE_WORKING', false), update('TASK_STATE_WORKING', true)];
  const { binding, seen } = recording(() => events);
  const legacy = agentCard({ url: 'a.example:1', binding: 'GRPC', version: '0.3' });
  const client = await connect(legacy, { bindings: [binding] });
  expect(await Array.fromAsync(client.sendStreamingMessage('hello'))).toHaveLength(2);
  expect(seen).toHaveLength(1);
});

test('what it rejects with is repeated where that is safe, and black where it quotes a secret', async () => {
  const { binding, seen } = recording(({ call }) => {
    const words = call.headers.get('Authorization') ?? '';
    throw new LegateError('PEER_UNREACHABLE', `${words} was not taken`);
  });
  const client = await connect(card, {
    bindings: [binding],
    auth: { bearer: 'secret' },
    sleep: () => Promise.resolve(),
  });
  await expect(client.getTask('task-1')).rejects.toThrow('Bearer [redacted] was not taken');
  expect(seen).toHaveLength(3);
});

test('an answer that does not fit is the fault of the peer', async () => {
  const { binding } = recording(() => ({ id: 7 }));
  const client = await connect(card, { bindings: [binding] });
  await expect(client.getTask('task-1')).rejects.toMatchObject({
    code: 'PEER_INVALID',
    message: expect.stringContaining('getTask at https://a.example:1 sent an invalid A2A response'),
  });
});

test('a client closes the channels of a former card, and all channels when it is closed', async () => {
  let current = card;
  const origin = await webServer((_, response) => response.end(JSON.stringify(current)));
  const { binding, log } = recording();
  {
    await using client = await connect(origin, { bindings: [binding] });
    current = { ...agentCard({ url: 'b.example:1', binding: 'GRPC' }), version: '2.0.0' };
    await client.refreshCard();
    expect(client.interface.url).toBe('b.example:1');
    expect(log).toEqual(['open a.example:1', 'open b.example:1', 'close a.example:1']);
  }
  expect(log.at(-1)).toBe('close b.example:1');
});
