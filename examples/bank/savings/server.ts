/**
 * The bank's savings and loan calculations, as an MCP server on standard input and output. Written
 * without packages, so that a copy of this folder runs on any Node. With packages, a server is shorter:
 * see the TypeScript SDK of MCP.
 */
import { createInterface } from 'node:readline';
import { monthlyRate } from './rates.ts';

type Json = Readonly<Record<string, unknown>>;

interface Tool {
  readonly description: string;
  readonly inputSchema: Json;
  readonly outputSchema: Json;
  /** Throws for invalid arguments. */
  readonly call: (given: Json) => Json;
}

const products = [
  { name: 'instant', interest: 1.5, notice: 'the money is there whenever it is needed' },
  { name: 'fixed', interest: 3, notice: 'the money stays for two years' },
];
const [text, number] = [{ type: 'string' }, { type: 'number' }];

const tools: Readonly<Record<string, Tool>> = {
  list_savings_products: {
    description: 'Lists the savings accounts that can be opened.',
    inputSchema: objectOf({}),
    outputSchema: objectOf({
      products: { type: 'array', items: objectOf({ name: text, interest: number, notice: text }) },
    }),
    call: () => ({ products }),
  },
  monthly_rate: {
    description: 'Calculates what a loan costs a month, in euros.',
    inputSchema: objectOf({
      amount: { type: 'number', exclusiveMinimum: 0 },
      months: { type: 'integer', exclusiveMinimum: 0 },
    }),
    outputSchema: objectOf({ rate: number }),
    call: (given) => ({ rate: monthlyRate(positive(given, 'amount'), positive(given, 'months')) }),
  },
  open_savings_account: {
    description: 'Opens a savings account.',
    inputSchema: objectOf({ product: { type: 'string', enum: ['instant', 'fixed'] } }),
    outputSchema: objectOf({ number: text, product: text }),
    call: ({ product }) => {
      if (product !== 'fixed' && product !== 'instant') {
        throw new RangeError('product: must be instant or fixed');
      }
      return { number: product === 'fixed' ? 'SF-2002' : 'SI-1001', product };
    },
  },
};

function objectOf(properties: Json): Json {
  return { type: 'object', properties, required: Object.keys(properties) };
}

function positive(given: Json, name: string): number {
  const value = given[name];
  if (typeof value === 'number' && value > 0) return value;
  throw new RangeError(`${name}: must be a positive number`);
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The result of a request; undefined for an unknown method. */
function resultOf(method: unknown, params: Json): Json | undefined {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: params['protocolVersion'],
        capabilities: { tools: {} },
        serverInfo: { name: 'savings', version: '1' },
      };
    case 'ping':
      return {};
    case 'tools/list':
      return {
        tools: Object.entries(tools).map(([name, { call: _call, ...tool }]) => ({ name, ...tool })),
      };
    case 'tools/call':
      return called(params);
    default:
      return undefined;
  }
}

function called({ name, arguments: given }: Json): Json {
  const refused = (reason: string): Json => ({
    content: [{ type: 'text', text: reason }],
    isError: true,
  });
  const tool = Object.entries(tools).find(([known]) => known === name)?.[1];
  if (tool === undefined) return refused(`there is no tool ${String(name)}`);
  try {
    const structuredContent = tool.call(isObject(given) ? given : {});
    const content = [{ type: 'text', text: JSON.stringify(structuredContent) }];
    return { content, structuredContent };
  } catch (error) {
    return refused(error instanceof Error ? error.message : String(error));
  }
}

function answerTo(line: string): Json | undefined {
  let request: unknown;
  try {
    request = JSON.parse(line);
  } catch {
    return { jsonrpc: '2.0', id: null, error: { code: -32700, message: 'not JSON' } };
  }
  // A request without an id is a notification, which gets no response.
  if (!isObject(request) || request['id'] === undefined) return undefined;
  const { id, method, params } = request;
  const result = resultOf(method, isObject(params) ? params : {});
  return result === undefined
    ? { jsonrpc: '2.0', id, error: { code: -32601, message: `no method ${String(method)}` } }
    : { jsonrpc: '2.0', id, result };
}

for await (const line of createInterface({ input: process.stdin })) {
  const answer = answerTo(line);
  if (answer !== undefined) process.stdout.write(`${JSON.stringify(answer)}\n`);
}
