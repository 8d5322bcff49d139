import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { JsonObject } from '../../src/protocol/index.ts';

/** One answer of a model: words, or a call of a tool. */
export type Said = string | { readonly tool: string; readonly input: JsonObject };

/** The events of one streamed answer, as a provider writes them. */
export type Wire = (said: Said) => readonly JsonObject[];

export interface ProviderEndpoint extends AsyncDisposable {
  readonly url: string;
  readonly calls: {
    readonly path: string;
    readonly headers: Readonly<Record<string, unknown>>;
    readonly body: JsonObject;
  }[];
}

/** An HTTP endpoint that refuses every call, in the words of a provider. */
export async function startRefusing(
  status: number,
  body: JsonObject,
  headers: Readonly<Record<string, string>> = {},
): Promise<ProviderEndpoint> {
  const calls: ProviderEndpoint['calls'] = [];
  const refuse = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const sent = JSON.parse(await text(request));
    calls.push({ path: request.url ?? '', headers: request.headers, body: sent });
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify(body));
  };
  return listen((request, response) => void refuse(request, response), calls);
}

/** An HTTP endpoint that streams answers in the wire format of one provider. */
export async function startProvider(
  wire: Wire,
  answers: readonly Said[],
): Promise<ProviderEndpoint> {
  const calls: ProviderEndpoint['calls'] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = JSON.parse(await text(request));
    const said = answers[calls.length];
    calls.push({ path: request.url ?? '', headers: request.headers, body });
    if (said === undefined) return void response.writeHead(500).end('no more answers');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of wire(said)) {
      const { type } = event;
      const name = typeof type === 'string' ? `event: ${type}\n` : '';
      response.write(`${name}data: ${JSON.stringify(event)}\n\n`);
    }
    response.end();
  };
  return listen((request, response) => void answer(request, response), calls);
}

async function listen(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
  calls: ProviderEndpoint['calls'] = [],
): Promise<ProviderEndpoint> {
  const server = createServer(handle);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** OpenAI's Responses API. */
export const openAiResponses: Wire = (said) => {
  const response = { id: 'resp_1', created_at: 0, model: 'gpt', service_tier: null };
  const usage = {
    input_tokens: 5,
    output_tokens: 3,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  };
  const item =
    typeof said === 'string'
      ? { id: 'msg_1', type: 'message', role: 'assistant', content: [] }
      : {
          id: 'fc_1',
          type: 'function_call',
          call_id: 'call_1',
          name: said.tool,
          arguments: JSON.stringify(said.input),
          status: 'completed',
        };
  const place = { output_index: 0, item_id: 'msg_1', content_index: 0 };
  return [
    { type: 'response.created', response },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, arguments: '' } },
    ...(typeof said === 'string'
      ? said
          .split(/(?= )/)
          .map((delta) => ({ type: 'response.output_text.delta', ...place, delta }))
      : []),
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { ...response, usage } },
  ];
};

/** Anthropic's Messages API. */
export const anthropicMessages: Wire = (said) => {
  const isText = typeof said === 'string';
  const block = isText
    ? { type: 'text', text: '' }
    : { type: 'tool_use', id: 'toolu_1', name: said.tool, input: {} };
  const deltas = isText
    ? said.split(/(?= )/).map((text) => ({ type: 'text_delta', text }))
    : [{ type: 'input_json_delta', partial_json: JSON.stringify(said.input) }];
  return [
    {
      type: 'message_start',
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'claude',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 5, output_tokens: 1 },
      },
    },
    { type: 'content_block_start', index: 0, content_block: block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index: 0, delta })),
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: isText ? 'end_turn' : 'tool_use', stop_sequence: null },
      usage: { output_tokens: 3 },
    },
    { type: 'message_stop' },
  ];
};

/** Google's `streamGenerateContent`. */
export const googleContent: Wire = (said) => {
  const parts =
    typeof said === 'string'
      ? said.split(/(?= )/).map((text) => ({ text }))
      : [{ functionCall: { name: said.tool, args: said.input } }];
  return parts.map((part, index) => ({
    candidates: [
      {
        content: { role: 'model', parts: [part] },
        index: 0,
        ...(index === parts.length - 1 && { finishReason: 'STOP' }),
      },
    ],
    usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 3, totalTokenCount: 8 },
  }));
};
