import type { CallToolResult, McpServer, ServerContext } from '@modelcontextprotocol/server';
import { z } from 'zod';
import {
  type Agent,
  type Caller,
  type EndKind,
  withSafeNames,
  textOf,
} from '../../agents/index.ts';
import {
  contentOf,
  endsTurn,
  isInterrupted,
  isJsonObject,
  type JsonObject,
  LegateError,
  type Message,
  message,
  type Part,
  type Task,
  type TaskStatus,
} from '../../protocol/index.ts';
import { endSpan, inSpan, type SpanOptions, startSpan } from '../../telemetry/index.ts';
import { endKindOf } from '../agent-events.ts';
import type { Call } from '../call.ts';
import type { Engine } from '../engine.ts';

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

/** The operations of the engine that an MCP server uses. */
export type TaskOperations = Pick<Engine, 'stream' | 'getTask' | 'listTasks' | 'cancelTask'>;

/** An agent as an MCP server. */
export class Serving {
  readonly #agent: Agent;
  readonly #version: string;
  readonly #tasks: () => Promise<TaskOperations>;

  constructor(agent: Agent, tasks: () => Promise<TaskOperations>, version = '1') {
    this.#agent = agent;
    this.#version = version;
    this.#tasks = tasks;
  }

  async server(caller: Caller): Promise<McpServer> {
    const { McpServer } = await import('@modelcontextprotocol/server');
    const { name, description, skills } = this.#agent;
    const server = new McpServer({ name, version: this.#version }, { capabilities: { tools: {} } });
    // An agent that declares no skills has one with its own name and description, which adds nothing.
    const own = skills.filter((skill) => skill.name !== name || skill.description !== description);
    const abilities = own.map((skill) => `- ${skill.name}: ${skill.description}`).join('\n');
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

  /** Runs the call in the trace of the caller, if it sends one. */
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
    const { signal } = context.mcpReq;
    const tasks = await this.#tasks();
    const call: Call = { caller, version: '1.0' };
    const message = await messageOf(input, tasks, call);
    if (message === undefined) {
      const text = `There is no open question ${input.invocation ?? ''}; leave "invocation" out.`;
      return { isError: true, content: [{ type: 'text', text }] };
    }
    let taskId: string | undefined;
    // A client that cancels a call cancels its task, unlike a disconnect in A2A.
    const cancel = (): void => {
      if (taskId === undefined) return;
      // The task has ended meanwhile, or its limits end it.
      tasks.cancelTask({ id: taskId }, call).catch(() => undefined);
    };
    signal.addEventListener('abort', cancel, { once: true });
    try {
      const onAdmitted: Call['onAdmitted'] = (admitted) => {
        ({ taskId } = admitted);
        if (signal.aborted) cancel();
      };
      const stream = await tasks.stream({ message }, { ...call, onAdmitted });
      let progress = 0;
      for await (const { body } of stream) {
        if ('message' in body.value) return repliedResult(body.value.message);
        if ('task' in body.value) taskId = body.value.task.id;
        if (!('statusUpdate' in body.value)) continue;
        // The stream stays open after auth-required: another party can continue the task.
        if (stream.hasStarted && endsTurn(body.value)) break;
        progress += 1;
        await notifyProgress(context, body.value.statusUpdate.status, progress);
      }
      const { value } = await tasks.getTask({ id: taskId ?? '' }, call);
      return taskResult(value);
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }
}

/** The message of a call; undefined if it answers a question that is not open for this caller. */
async function messageOf(
  input: Input,
  tasks: TaskOperations,
  call: Call,
): Promise<Message | undefined> {
  const parts: Part[] = [{ text: input.message }];
  if (isJsonObject(input.data)) parts.push({ data: input.data });
  const { invocation, session } = input;
  if (invocation !== undefined) {
    const asked = await taskOf(tasks, invocation, call);
    if (asked === undefined || !isInterrupted(asked.status.state)) return undefined;
    return message(parts, { taskId: invocation, contextId: asked.contextId });
  }
  const contextId = session === undefined ? undefined : await knownContext(tasks, session, call);
  return message(parts, contextId === undefined ? {} : { contextId });
}

async function taskOf(tasks: TaskOperations, id: string, call: Call): Promise<Task | undefined> {
  try {
    return (await tasks.getTask({ id }, call)).value;
  } catch (error) {
    if (error instanceof LegateError && error.code === 'TASK_NOT_FOUND') return undefined;
    throw error;
  }
}

/** Anonymous callers can only continue conversations that exist: ids chosen by clients can be guessed. */
async function knownContext(
  tasks: TaskOperations,
  contextId: string,
  call: Call,
): Promise<string | undefined> {
  if (call.caller.subject !== '') return contextId;
  const { tasks: known } = await tasks.listTasks({ contextId, pageSize: 1 }, call);
  return known.length > 0 ? contextId : undefined;
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

/** Sends progress to clients that requested it. */
async function notifyProgress(
  { mcpReq }: ServerContext,
  { state, message: said }: TaskStatus,
  progress: number,
): Promise<void> {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined || state !== 'TASK_STATE_WORKING' || said === undefined) return;
  await mcpReq.notify({
    method: 'notifications/progress',
    params: { progressToken, progress, message: textOf(said) },
  });
}

function repliedResult({ contextId = '', parts }: Message): CallToolResult {
  return toResult({ state: 'completed', session: contextId, text: textOf({ parts }) }, parts);
}

function taskResult(task: Task): CallToolResult {
  const { id, contextId, artifacts = [], status } = task;
  const state = endKindOf(status.state) ?? 'failed';
  const parts = [...artifacts.flatMap((made) => made.parts), ...(status.message?.parts ?? [])];
  return toResult(
    {
      state,
      session: contextId,
      text: textOf(task),
      ...(isInterrupted(status.state) && { invocation: id }),
    },
    parts,
  );
}

function toResult(
  shown: {
    readonly state: EndKind;
    readonly session: string;
    readonly text: string;
    readonly invocation?: string;
  },
  parts: readonly Part[],
): CallToolResult {
  const { state, text } = shown;
  const { data } = contentOf(text, parts);
  const said: CallToolResult['content'] = [{ type: 'text', text: text === '' ? state : text }];
  const files = parts.flatMap(toFile);
  const { text: _, ...rest } = shown;
  const structured = { ...rest, ...(data.length > 0 && { data: [...data] }) };
  const isError = state === 'failed' || state === 'rejected' || state === 'canceled';
  return {
    content: isError ? [...said, ...files] : [...said, ...files, forModels(structured)],
    structuredContent: { ...structured, text },
    ...(isError && { isError }),
  };
}

/** Many hosts pass only the content to a model, which needs the ids to answer or continue. */
function forModels(structured: JsonObject): CallToolResult['content'][number] {
  const text = JSON.stringify(structured);
  return { type: 'text', text, annotations: { audience: ['assistant'] } };
}

function toFile({ raw, mediaType, filename }: Part): CallToolResult['content'] {
  if (raw === undefined) return [];
  const mimeType = mediaType ?? 'application/octet-stream';
  if (mimeType.startsWith('image/')) return [{ type: 'image', data: raw, mimeType }];
  const uri = `artifact:///${encodeURIComponent(filename ?? 'file')}`;
  return [{ type: 'resource', resource: { uri, mimeType, blob: raw } }];
}
