import { llmAgent } from 'legate';
import { createModel } from 'legate/models';

const { MODEL = 'scripted', MODEL_URL = '', MODEL_KEY = '' } = process.env;

/**
 * The orchestrator: delegates the customers' requests to other agents, with the tools that `peers:` gives
 * its model.
 */
export const desk = llmAgent({
  name: 'desk',
  description: 'Helps the customers of Harbour Bank',
  instruction: 'You help the customers of a bank. Pass their requests to the agent "bank".',
  model: createModel({
    id: 'desk',
    models: [{ provider: 'self-hosted', model: MODEL, api_base: MODEL_URL, api_key: MODEL_KEY }],
  }),
});
