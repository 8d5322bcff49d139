/** What the bank knows about money over time, as an MCP server on standard input and output. */
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { monthlyRate } from './rates.ts';

const products = [
  { name: 'instant', interest: 1.5, notice: 'the money is there whenever it is needed' },
  { name: 'fixed', interest: 3, notice: 'the money stays for two years' },
];

function bank(): McpServer {
  const server = new McpServer({ name: 'savings', version: '1' }, { capabilities: { tools: {} } });
  server.registerTool(
    'list_savings_products',
    {
      description: 'Lists the savings accounts that can be opened.',
      inputSchema: z.object({}),
      outputSchema: z.object({
        products: z.array(z.object({ name: z.string(), interest: z.number(), notice: z.string() })),
      }),
      annotations: { readOnlyHint: true },
    },
    () => answer({ products }),
  );
  server.registerTool(
    'monthly_rate',
    {
      description: 'Calculates what a loan costs a month, in euros.',
      inputSchema: z.object({ amount: z.number().positive(), months: z.int().positive() }),
      outputSchema: z.object({ rate: z.number() }),
      annotations: { readOnlyHint: true },
    },
    ({ amount, months }) => answer({ rate: monthlyRate(amount, months) }),
  );
  server.registerTool(
    'open_savings_account',
    {
      description: 'Opens a savings account.',
      inputSchema: z.object({ product: z.enum(['instant', 'fixed']) }),
      outputSchema: z.object({ number: z.string(), product: z.string() }),
    },
    ({ product }) => answer({ number: product === 'fixed' ? 'SF-2002' : 'SI-1001', product }),
  );
  return server;
}

function answer<T extends object>(structuredContent: T) {
  return {
    content: [{ type: 'text' as const, text: JSON.stringify(structuredContent) }],
    structuredContent,
  };
}

serveStdio(bank);
