import { expect, test } from 'vitest';
import { greenhouseFolder } from '../../test/support/greenhouse.ts';
import { silentLogger } from '../telemetry/index.ts';
import { loadAgent } from './load-agent.ts';

test.each(['fail', 'run-again'] as const)(
  'a worker keeps the policy of an assistant for interrupted turns: %s',
  async (policy) => {
    await using folder = await greenhouseFolder({
      'endpoints.yml': `a2a_server: {description: Waters plants., on_interrupted: ${policy}}\n`,
    });
    const { agent } = await loadAgent(folder.directory, { logger: silentLogger });
    expect(agent.onInterrupted).toBe(policy);
  },
);
