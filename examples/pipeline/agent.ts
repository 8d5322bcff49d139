import type { LanguageModelV4 } from '@ai-sdk/provider';
import {
  type Agent,
  exitLoop,
  llmAgent,
  loop,
  parallel,
  sequential,
} from '../../src/agents/index.ts';

/** A newsroom: two researchers side by side, then a writer and a critic in turns. */
export function newsroom(model: LanguageModelV4): Agent {
  const researcher = (name: string, about: string): Agent =>
    llmAgent({ name, model, instruction: `You are a researcher. Give one sentence on ${about}.` });
  const writer = llmAgent({
    name: 'writer',
    model,
    instruction: 'You are a writer. Write two sentences from what you are given.',
  });
  const critic = llmAgent({
    name: 'critic',
    model,
    instruction:
      'You are a critic. Call exit_loop when the text names a price; else say what it lacks.',
    tools: [exitLoop()],
  });
  return sequential({
    name: 'newsroom',
    description: 'Writes a short article on a topic.',
    steps: [
      parallel({
        name: 'research',
        branches: [researcher('history', 'its history'), researcher('market', 'its price today')],
      }),
      loop({ name: 'polish', steps: [writer, critic], maxIterations: 3 }),
    ],
  });
}
