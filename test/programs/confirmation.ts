import { z } from 'zod';
import { llmAgent, serve, tool } from '../../src/index.ts';

const input = z.object({ to: z.string(), amount: z.number() });
const description = 'Pays an amount in francs.';
const run = ({ to, amount }: z.infer<typeof input>) => `paid ${amount} to ${to}`;
const pay = tool({ name: 'pay', description, input, needsConfirmation: true, run });
const rate = tool({ name: 'rate', description: 'Francs for a euro.', run: () => 0.94 });
const clerk = llmAgent({ name: 'clerk', model: 'ollama/qwen3', tools: [rate, pay] });
export const server = await serve(clerk, { store: { type: 'sqlite', path: 'clerk.db' } });
