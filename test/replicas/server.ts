/**
 * One replica for tests: an agent whose turns can be held and counted, on PostgreSQL. Its settings are
 * its one argument; it tells its parent of its port and of every turn it begins.
 */
import { agent, chunk, inputRequired, textOf, type Turn, working } from '../../src/agents/index.ts';
import { serve } from '../../src/http/index.ts';
import { artifact } from '../../src/protocol/index.ts';
import { setDiskFull } from '../support/full-disk.ts';
import type { ReplicaSettings, ToParent, ToReplica } from './messages.ts';

const settings = JSON.parse(process.argv[2] ?? '{}') as ReplicaSettings;
const tell = (message: ToParent): void => void process.send?.(message);

const gates = new Map<string, PromiseWithResolvers<void>>();
function gate(name: string): PromiseWithResolvers<void> {
  const found = gates.get(name) ?? Promise.withResolvers<void>();
  gates.set(name, found);
  return found;
}
process.on('message', (message: ToReplica) => {
  if ('open' in message) gate(message.open).resolve();
  else if ('isDiskFull' in message) setDiskFull(message.isDiskFull);
});

/** Waits for the gate of that name, but not beyond the turn's own end. */
async function passed(name: string, { signal }: Turn): Promise<void> {
  const stopped = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
  await Promise.race([gate(name).promise, stopped]);
}

const server = await serve(
  agent(
    {
      name: 'replicated',
      onInterrupted: settings.onInterrupted ?? 'fail',
      ...(settings.serialise !== undefined && { serialise: settings.serialise }),
    },
    async function* (turn) {
      const text = textOf(turn.message);
      const [verb = '', name = ''] = text.split(' ');
      tell({ began: text, messageId: turn.message.messageId, attempt: turn.attempt });
      if (verb === 'ask' && !turn.isContinuation) {
        yield inputRequired('?');
        return;
      }
      if (verb === 'wait') {
        yield working();
        // A turn that runs again does not wait for what its first run waited for.
        if (turn.attempt === 1) await passed(name, turn);
      }
      if (verb === 'hang') await new Promise(() => {});
      if (verb === 'pause') await new Promise((resolve) => setTimeout(resolve, Number(name)));
      if (verb === 'steps') {
        for (let index = 0; index < Number(name); index += 1) {
          await new Promise((resolve) => setTimeout(resolve, 50));
          turn.signal.throwIfAborted();
          yield chunk('steps', `${index} `, { append: index > 0 });
        }
      }
      if (verb === 'chunks') {
        for (let index = 0; index < 3; index += 1) {
          await passed(`${name}.${index}`, turn);
          yield chunk('a', `${index} `, { append: index > 0, last: index === 2 });
        }
      }
      const count = Number((await turn.state.load())?.count ?? 0) + 1;
      yield artifact(String(count));
      yield {
        kind: 'completed',
        context: { value: { count }, log: [{ text, messageId: turn.message.messageId }] },
      };
    },
  ),
  {
    store:
      settings.sqlite === undefined
        ? {
            type: 'postgres',
            url: settings.database,
            ...(settings.listenUrl !== undefined && { listenUrl: settings.listenUrl }),
            ...(settings.statementTimeoutMs !== undefined && {
              statementTimeoutMs: settings.statementTimeoutMs,
            }),
          }
        : { type: 'sqlite', path: settings.sqlite },
    leaseMs: settings.leaseMs ?? 15_000,
    pollIntervalMs: settings.pollIntervalMs ?? 1_000,
    cancelGraceMs: 500,
    drainMs: settings.drainMs ?? 5_000,
    push: { pollInterval: 500, timeout: 2_000, backoff: { initialDelay: 100 } },
    ...(settings.callerLimits !== undefined && { callerLimits: settings.callerLimits }),
    ...(settings.maxContexts !== undefined && { maxContexts: settings.maxContexts }),
    ...(settings.retentionMs !== undefined && { retentionMs: settings.retentionMs }),
    ...(settings.sweepIntervalMs !== undefined && { sweepIntervalMs: settings.sweepIntervalMs }),
    ...(settings.taskTimeoutMs !== undefined && { taskTimeoutMs: settings.taskTimeoutMs }),
  },
);
process.once('SIGTERM', () => void server.close().then(() => process.exit(0)));
tell({ port: server.port });
