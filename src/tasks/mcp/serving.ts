import type { CallToolResult, McpServer, ServerContext } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { present } from '../../config/index.ts';
import {
  type Agent,
  type Caller,
  withSafeNames,
  textOf,
  type TurnEvent,
} from '../../agents/index.ts';
import { isJsonObject, type Part } from '../../protocol/index.ts';
import { endSpan, inSpan, type SpanOptions, startSpan } from '../../telemetry/index.ts';
import type { Invocation, InvocationResult } from '../runner/invocation.ts';
import { Runner } from '../runner/runner.ts';
import type { McpServerOptions } from './mcp-server.ts';

const inputSchema = z.object({
  message: z.string().describe('What to say to the agent.'),
  data: z.looseObject({}).exactOptional().describe('Data for the agent, beside the message.'),
  session: z
    .string()
    .exactOptional()
    .describe('The conversation to continue, as an earlier result named it.'),
  invocation: z
    .string()
    .exactOptional()
    .describe('The question that the message answers, as an earlier result named it.'),
});
type Input = z.infer<typeof inputSchema>;

/** What all requests to one served agent share. */
export class Serving {
  readonly #agent: Agent;
  readonly #options: McpServerOptions;
  readonly #runner: Runner;

  constructor(agent: Agent, options: McpServerOptions) {
    this.#agent = agent;
    this.#options = options;
    const { store, logger } = options;
    this.#runner = new Runner({ agent, isResumable: false, ...present({ store, logger }) });
  }

  async server(caller: Caller): Promise<McpServer> {
    const { McpServer } = await import('@modelcontextprotocol/server');
    const { name, description, skills } = this.#agent;
    const { version = '1' } = this.#options;
    const server = new McpServer({ name, version }, { capabilities: { tools: {} } });
    const abilities = skills.map((skill) => `- ${skill.name}: ${skill.description}`).join('\n');
    server.registerTool(
      withSafeNames([{ name }])[0]?.name ?? 'agent',
      {
        title: name,
        description: `${description}\n${abilities}`.trim(),
        inputSchema,
      },
      (input, context) => this.#call(input, caller, context),
    );
    return server;
  }

  /** Runs in the trace of the caller, if it sends one. */
  async #call(input: Input, caller: Caller, context: ServerContext): Promise<CallToolResult> {
    const span = startSpan('legate.mcp.call', {
      kind: 'server',
      attributes: { 'legate.agent': this.#agent.name },
      ...traceOf(context),
    });
    try {
      return await inSpan(span, () => this.#answer(input, caller, context));
    } finally {
      endSpan(span);
    }
  }

  async #answer(input: Input, caller: Caller, context: ServerContext): Promise<CallToolResult> {
    const invocation = await this.#start(input, caller, context.mcpReq.signal);
    if (invocation === undefined) {
      const text = `There is no open question ${input.invocation ?? ''}; leave "invocation" out.`;
      return { isError: true, content: [{ type: 'text', text }] };
    }
    let progress = 0;
    for await (const event of invocation) {
      progress += 1;
      await notifyProgress(context, event, progress);
    }
    return toResult(await invocation.result());
  }

  async #start(input: Input, caller: Caller, signal: AbortSignal): Promise<Invocation | undefined> {
    const parts: Part[] = [{ text: input.message }];
    if (isJsonObject(input.data)) parts.push({ data: input.data });
    if (input.invocation !== undefined) {
      const open = await this.#runner.find(input.invocation);
      const isOwn = open?.caller.subject === caller.subject && open.caller.tenant === caller.tenant;
      if (open === undefined || !isOwn || !open.isWaiting) return undefined;
      return this.#runner.resume(input.invocation, parts, { signal });
    }
    const sessionId = await this.#sessionFor(input.session, caller);
    return this.#runner.start({
      message: parts,
      caller,
      signal,
      ...(sessionId !== undefined && { sessionId }),
    });
  }

  /** Anonymous callers may only continue conversations whose ids we made: others could guess theirs. */
  async #sessionFor(sessionId: string | undefined, caller: Caller): Promise<string | undefined> {
    if (sessionId === undefined || caller.subject !== '') return sessionId;
    const known = await this.#runner.sessions.get({ caller, sessionId });
    return known === undefined ? undefined : sessionId;
  }
}

/** The trace of the call itself takes precedence over that of the HTTP request that carries it. */
function traceOf({ mcpReq, http }: ServerContext): Pick<SpanOptions, 'traceparent' | 'tracestate'> {
  const { traceparent, tracestate } = mcpReq._meta ?? {};
  if (typeof traceparent === 'string') {
    return typeof tracestate === 'string' ? { traceparent, tracestate } : { traceparent };
  }
  const headers = http?.req?.headers;
  return {
    traceparent: headers?.get('traceparent') ?? undefined,
    tracestate: headers?.get('tracestate') ?? undefined,
  };
}

/** Sends progress to clients that asked for it. */
async function notifyProgress(
  { mcpReq }: ServerContext,
  event: TurnEvent,
  progress: number,
): Promise<void> {
  const progressToken = mcpReq._meta?.progressToken;
  const hasText = 'kind' in event && event.kind === 'working' && event.parts !== undefined;
  if (progressToken === undefined || !hasText) return;
  const message = textOf({ parts: event.parts ?? [] });
  await mcpReq.notify({
    method: 'notifications/progress',
    params: { progressToken, progress, message },
  });
}

function toResult(result: InvocationResult): CallToolResult {
  const { state, sessionId, invocationId, artifacts, text } = result;
  const isWaiting = state === 'input-required' || state === 'auth-required';
  const data = [...artifacts.flatMap(({ parts }) => parts), ...result.parts].flatMap((part) =>
    part.data === undefined ? [] : [part.data],
  );
  const files = artifacts.flatMap(({ parts }) => parts.flatMap(toFile));
  return {
    content: [{ type: 'text', text: text === '' ? state : text }, ...files],
    structuredContent: {
      state,
      session: sessionId,
      text,
      ...(isWaiting && { invocation: invocationId }),
      ...(data.length > 0 && { data }),
    },
    ...((state === 'failed' || state === 'rejected' || state === 'canceled') && { isError: true }),
  };
}

function toFile({ raw, mediaType, filename }: Part): CallToolResult['content'] {
  if (raw === undefined) return [];
  const mimeType = mediaType ?? 'application/octet-stream';
  if (mimeType.startsWith('image/')) return [{ type: 'image', data: raw, mimeType }];
  const uri = `artifact:///${encodeURIComponent(filename ?? 'file')}`;
  return [{ type: 'resource', resource: { uri, mimeType, blob: raw } }];
}
