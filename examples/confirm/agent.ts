import type { LanguageModelV4 } from '@ai-sdk/provider';
import { appendFile } from 'node:fs/promises';
import { z } from 'zod';
import { type Agent, llmAgent, tool } from '../../src/agents/index.ts';

/** A clerk that transfers money, and asks before large transfers. The ledger is a file. */
export function clerk(model: LanguageModelV4, ledger: string): Agent {
  const transfer = tool({
    name: 'transfer_money',
    description: 'Transfers money to a person.',
    input: z.object({ to: z.string(), amount: z.number().positive() }),
    needsConfirmation: ({ to, amount }) =>
      amount > 100 ? `Shall I really send ${amount} to ${to}?` : false,
    run: async ({ to, amount }) => {
      await appendFile(ledger, `${amount} to ${to}\n`);
      return { transferred: amount, to };
    },
  });
  return llmAgent({
    name: 'clerk',
    description: 'Transfers money.',
    model,
    instruction:
      'You transfer money with transfer_money, and then say in a few words that it is done.',
    tools: [transfer],
  });
}
