import { z } from 'zod';
import { checkOptions, data, text } from '../../protocol/index.ts';
import { type Tool, tool, ToolPause } from './tool.ts';

/**
 * A tool for models: asks the caller and waits for the answer. The task becomes input-required and
 * continues with the next message. The model writes the question, so there are no options. Without this
 * tool, a model can ask only in its answer, which completes the task.
 * @example llmAgent({ name: 'clerk', model, tools: [askUser()] })
 */
export function askUser(options: Readonly<Record<string, never>> = {}): Tool {
  checkOptions('askUser', options, {});
  return tool({
    name: 'ask_user',
    description: 'Asks the user a question and waits for the answer.',
    input: z.object({
      question: z.string(),
      choices: z
        .array(z.string())
        .optional()
        .describe('What the user can choose from, if that is known.'),
    }),
    run: ({ question, choices }) =>
      new ToolPause({ question: [text(question), ...(choices ? [data({ choices })] : [])] }),
  });
}
