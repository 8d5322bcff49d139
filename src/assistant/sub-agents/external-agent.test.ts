import { expect, test } from 'vitest';
import { silentLogger } from '../../telemetry/index.ts';
import type { Call } from '../executor/call-handler.ts';
import type { ExternalAgent } from '../project/sub-agents.ts';
import { ExternalCaller } from './external-agent.ts';
import type { AgentInput } from './model.ts';

test('a card that cannot be read after the turn was aborted is handled', async () => {
  const gate = Promise.withResolvers<Response>();
  const asked = Promise.withResolvers<void>();
  const caller = new ExternalCaller({
    agent: {
      name: 'finder',
      agentCard: 'https://hotels.example',
      pollingInitialDelay: 1,
    } as ExternalAgent,
    files: new Map(),
    fetch: () => {
      asked.resolve();
      return gate.promise;
    },
  });
  const signal = AbortSignal.abort(new Error('gone'));
  const call = { signal, metadata: {}, logger: silentLogger } as Partial<Call> as Call;
  const input = { id: 'm', metadata: {} } as Partial<AgentInput> as AgentInput;
  await expect(caller.run(call, input)).rejects.toThrow('gone');
  await asked.promise;
  // An unhandled rejection would fail the test run.
  gate.reject(new Error('card not found'));
  await new Promise((resolve) => setImmediate(resolve));
  await caller.close();
});
