import { z } from 'zod';
import { type Tool, tool, type ToolContext, ToolPause, working } from '../../agents/index.ts';
import { present } from '../../config/index.ts';
import { digestId } from '../../store/index.ts';
import type { Invocation, InvocationSession } from './invocation.ts';
import type { Invoker } from './invoker.ts';
import { questionParts } from './answers.ts';

/** How a model calls peers. */
export interface InvokeToolOptions {
  readonly invoker: Invoker;
  /**
   * `dispatch` returns a receipt at once, and the result comes into the conversation as a turn of
   * its own; `wait` returns the result, for agents that others call. @default 'dispatch'
   */
  readonly mode?: 'dispatch' | 'wait';
}

const primitive = z.union([z.string(), z.number(), z.boolean()]);

/** The tool with which a model sends tasks to other agents. */
export function invokeTool(options: InvokeToolOptions): Tool {
  const { invoker, mode = 'dispatch' } = options;
  return tool({
    name: 'invoke_agent',
    description:
      `Gives a task to another agent. Find the agent and the id of its skill with search_known_services or list_known_agents first. ` +
      (mode === 'dispatch'
        ? 'The result comes later, as a message of its own; several tasks may run at a time.'
        : 'Returns the result.'),
    input: z.object({
      agent_name: z.string().describe('The name of the agent'),
      skill: z.string().describe('The id of one of its skills'),
      message: z.string().describe('The task, as text'),
      data: z
        .record(z.string(), z.json())
        .optional()
        .describe('Fields that the skill documents; leave it out where it documents none'),
      metadata: z.record(z.string(), primitive).optional(),
      timeout_minutes: z.number().positive().optional().describe('5 if not given'),
    }),
    run: async (input, context) => {
      const { agent_name, skill, message, data, metadata, timeout_minutes } = input;
      const request = {
        agent: agent_name,
        skill,
        message,
        ...present({ data, metadata, timeoutMs: timeout_minutes && timeout_minutes * 60_000 }),
      };
      const session = sessionOf(context);
      if (mode === 'dispatch') return receipt(await invoker.invoke(request, session));
      // The id is the same when the turn runs again after a crash: the task is sent once.
      const { callId, turn } = context;
      const id = callIdOf(context);
      const isRepeatable = turn.journal !== undefined;
      const origin = { taskId: turn.taskId, scope: 'tool', run: callId, number: 1, isRepeatable };
      await invoker.invokeOnce(request, session, { id, origin });
      return waitFor(invoker, id, context);
    },
    // A peer's question goes to the user as the agent's own; the answer goes to the peer.
    resume: async ({ message, state }, context) => {
      const id = readPause(state);
      // The id is the same when the turn runs again after a crash: the answer is sent once.
      const messageId = callIdOf(context);
      if ((await invoker.find(id))?.message.messageId === messageId) await invoker.rejoin(id);
      else await invoker.answer(id, message.parts, { messageId });
      return waitFor(invoker, id, context);
    },
    abandon: async (state) => {
      await invoker.cancel(readPause(state));
    },
    // With `wait`, a repeated call finds the task by its id.
    isIdempotent: mode === 'wait',
    // The invoker has its own timeout.
    timeoutMs: 0,
  });
}

/** The invocation that a `ToolPause` of `waitFor` belongs to. */
function readPause(state: unknown): string {
  return z.object({ invocation: z.string() }).parse(state).invocation;
}

function callIdOf({ turn, callId, agent }: ToolContext): string {
  return digestId(turn.taskId, turn.message.messageId, agent, callId);
}

function sessionOf({ turn }: ToolContext): InvocationSession {
  return { id: turn.contextId, caller: turn.caller };
}

function receipt({ agent, id }: Invocation): string {
  return (
    `Task dispatched to agent '${agent}' with task_id: ${id}. The result will arrive asynchronously as a follow-up message. ` +
    'You may dispatch tasks to other agents now; otherwise present a brief status to the user and wait. Do not dispatch the same task again.'
  );
}

async function waitFor(invoker: Invoker, id: string, context: ToolContext): Promise<unknown> {
  const invocation = await invoker.wait(id, {
    signal: context.signal,
    onProgress: (text) => context.emit(working(text)),
  });
  const { state, question, outcome, agent } = invocation;
  if (state === 'asking' && question !== undefined) {
    return new ToolPause({
      question: questionParts(question),
      needsAuthorization: question.needsAuthorization,
      state: { invocation: id },
    });
  }
  return {
    agent,
    task_id: id,
    state: outcome?.end.replace('TASK_STATE_', '').toLowerCase().replaceAll('_', '-') ?? state,
    result: outcome?.text ?? '',
    ...((outcome?.data.length ?? 0) > 0 && { data: outcome?.data }),
    ...(outcome?.keys?.artifacts !== undefined && { artifacts_key: outcome.keys.artifacts }),
  };
}
