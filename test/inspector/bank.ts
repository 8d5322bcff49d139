import { join } from 'node:path';
import {
  type AssistantServing,
  serveAssistant,
  type ServeAssistantOptions,
} from '../../src/assistant/index.ts';
import { inspectorToken } from '../../src/http/inspector/testing/inspected-server.ts';

const directory = join(import.meta.dirname, '../../examples/bank');

/** The bank of the examples, with the inspector, in memory. */
export function bank(options: Partial<ServeAssistantOptions> = {}): Promise<AssistantServing> {
  return serveAssistant({
    places: { directory },
    store: { type: 'memory' },
    inspect: { version: '0.1.0', token: inspectorToken },
    drainMs: 0,
    ...options,
  });
}

/** The same, where a model at this address reads the messages. */
export function bankWithModel(url: string): Promise<AssistantServing> {
  const inModel = (name: string): string => join(directory, 'model', name);
  return bank({
    places: {
      directory,
      config: inModel('config.yml'),
      endpoints: inModel('endpoints.yml'),
      subAgents: inModel('sub_agents'),
    },
    environment: {
      ...process.env,
      BANK_MODEL: 'small-1',
      BANK_MODEL_URL: url,
      BANK_MODEL_KEY: 'x',
    },
  });
}
