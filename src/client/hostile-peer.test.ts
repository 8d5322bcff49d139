import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { LegateError } from '../protocol/index.ts';
import { type Client, connect } from './index.ts';
import { agentCard } from './testing/fixtures.ts';
import { speeches } from './testing/scripted-agent.ts';

const calls: readonly ((client: Client) => Promise<unknown>)[] = [
  (client) => client.sendMessage('Hello'),
  (client) => client.getTask('task-1'),
  (client) => client.listTasks(),
  (client) => client.cancelTask('task-1'),
  (client) => client.getTaskPushNotificationConfig({ taskId: 'task-1', id: 'config-1' }),
  (client) => client.getExtendedAgentCard(),
  (client) => client.waitForEnd('task-1'),
  (client) => client.sendAndWait('Hello'),
];

const names = ['id', 'result', 'error', 'task', 'message', 'status', 'state', 'parts', 'kind'];
const values = fc.letrec<{ value: unknown; object: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<unknown>(null, 'task', 'TASK_STATE_WORKING', 'completed', '2.0', -32001, ''),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc.dictionary(fc.constantFrom(...names, '__proto__', 'jsonrpc', 'code'), tie('value')),
}));
const bodies = fc.oneof(
  values.value.map((value) => JSON.stringify(value)),
  values.value.map((value) => `data: ${JSON.stringify(value)}\n\n`),
  values.value.map((result) => JSON.stringify({ jsonrpc: '2.0', id: 1, result })),
  values.value.map((error) => `event: error\ndata: ${JSON.stringify({ error })}\n\n`),
  fc.string(),
  fc.constant('['.repeat(100_000)),
);

test.each(speeches)(
  'whatever a peer answers, only an error with a code comes out: $binding $version',
  async ({ binding, version }) => {
    const card = agentCard({ url: 'https://agent.example', binding, version });
    await fc.assert(
      fc.asyncProperty(
        bodies,
        fc.constantFrom(200, 201, 204, 400, 401, 404, 409, 500, 503),
        fc.constantFrom('application/json', 'text/event-stream', 'text/html', ''),
        fc.constantFrom(...calls),
        async (body, status, type, call) => {
          let requests = 0;
          const client = await connect(card, {
            retry: false,
            sleep: () => Promise.resolve(),
            fetch: async () => {
              requests += 1;
              // A peer that says the same forever is left sooner or later.
              if (requests > 20) return new Response('no more', { status: 500 });
              return new Response(status === 204 ? null : body, {
                status,
                headers: { 'Content-Type': type },
              });
            },
          });
          try {
            await call(client);
          } catch (error) {
            expect(error).toBeInstanceOf(LegateError);
          }
          expect({}).not.toHaveProperty('state');
          expect(requests).toBeLessThanOrEqual(21);
        },
      ),
      { numRuns: 150 },
    );
  },
);
