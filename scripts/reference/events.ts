import { mismatches, sources } from './scan.ts';

/** Events of conversations, as `GET /conversations/{id}/tracker` shows them. */
const conversationEvents: Readonly<Record<string, string>> = {
  user: 'A message of the user; `parse_data.commands` has the predicted commands, `parse_data.prompts` the prompts',
  bot: 'A message of the assistant; `metadata` names its source',
  action:
    'An action ran; `action_listen`, which ends a turn, has `metadata.execution_times` and, after model calls, `metadata.prompts`',
  action_execution_rejected: 'An action rejected its execution',
  slot: 'A slot was set; `filled_by` names the source of the value',
  session_started: 'A session started',
  session_ended: 'A session ended, with `_reason`',
  conversation_inactive: 'The session expired without a message of the user',
  restart: 'The conversation was reset',
  flow_started: 'A flow started',
  flow_completed: 'A flow completed',
  flow_cancelled: 'A flow was cancelled',
  flow_interrupted: 'Another flow interrupted a flow',
  flow_resumed: 'An interrupted flow continues',
  agent_started: 'A sub agent started',
  agent_completed: 'A sub agent completed',
  agent_interrupted: 'A flow interrupted a sub agent',
  agent_resumed: 'An interrupted sub agent continues',
  agent_cancelled: 'A sub agent was cancelled or failed',
};

/** The events that agents yield. */
const turnEvents: Readonly<Record<string, string>> = {
  working: 'A progress update with text or data; the task is `TASK_STATE_WORKING`',
  'artifact(...)': 'A complete artifact',
  chunk: 'A chunk of an artifact: `append`, `lastChunk`',
  message: 'A plain message instead of a task; must be the only event',
  completed: 'The task is completed; the default if the function returns without an end',
  'input-required':
    'A question to the caller; the next message with the same `taskId` is the answer',
  'auth-required': 'The caller must authenticate first',
  rejected: 'The agent rejects the task',
  failed: 'The task failed, with `error_type` and `error_info`',
  canceled: 'The task was cancelled',
};

/** The events that subscribers receive, on every binding. */
const streamEvents: Readonly<Record<string, string>> = {
  task: 'The current task; the first event of every stream',
  statusUpdate: 'A new state, with its message',
  artifactUpdate: 'An artifact, or a chunk of one',
  message: 'A plain message; ends the stream',
};

export function eventsPage(): string {
  const missing = differences();
  if (missing.length > 0) throw new Error(missing.join('\n'));
  return [
    '# Events',
    '## Turn events',
    'Events that an agent yields. Legate stores each event before it sends it.',
    table('event', turnEvents),
    '## Stream events',
    'Events of `SendStreamingMessage` and `SubscribeToTask`, one member each. Over SSE, `id:` has the number of the event; `Last-Event-ID` resumes after it, on any replica.',
    table('member', streamEvents),
    '## Conversation events',
    'Events of an assistant conversation, in the format of Rasa trackers. Every event has a `timestamp`.',
    table('event', conversationEvents),
    'Log events, metrics and spans: [telemetry](telemetry.md).',
  ].join('\n\n');
}

function table(what: string, rows: Readonly<Record<string, string>>): string {
  return [
    `| ${what} | |`,
    '|---|---|',
    ...Object.entries(rows).map(([name, meaning]) => `| \`${name}\` | ${meaning} |`),
  ].join('\n');
}

/** Events that are emitted but not described, and events that are described but not emitted. */
function differences(): readonly string[] {
  const agent = sources().get('src/agents/agent.ts') ?? '';
  const wire = sources().get('src/protocol/model.ts') ?? '';
  const ends = quotedIn(/type EndKind =([^;]+);/.exec(agent)?.[1] ?? '');
  const kinds = Array.from(
    agent.matchAll(/^ {2}readonly kind: '([a-z-]+)';/gm),
    ([, kind = '']) => kind,
  );
  const members = /type StreamResponse =([^;]+(?:;[^;]+\})*);/.exec(wire)?.[1] ?? '';
  return [
    ...mismatches(
      'event',
      new Set([...ends, ...kinds]),
      // A helper is not an event.
      Object.keys(turnEvents).filter((name) => !name.endsWith('(...)')),
    ),
    ...mismatches(
      'event',
      new Set(Array.from(members.matchAll(/readonly (\w+):/g), ([, name = '']) => name)),
      Object.keys(streamEvents),
    ),
    ...mismatches('event', conversationEventsMade(), Object.keys(conversationEvents)),
  ];
}

function quotedIn(part: string): readonly string[] {
  return Array.from(part.matchAll(/'([\w-]+)'/g), ([, name = '']) => name);
}

function conversationEventsMade(): ReadonlySet<string> {
  const text = sources().get('src/assistant/tracker/events.ts') ?? '';
  const flow = /type FlowEvent = ([^;]+);/.exec(text)?.[1] ?? '';
  const agent = /export function agentEvent\(\s*event: ([^,]+),/.exec(text)?.[1] ?? '';
  const made = new Set([
    ...Array.from(text.matchAll(/event: '(\w+)'[,} ]/g), ([, name = '']) => name),
    ...quotedIn(flow),
    ...quotedIn(agent).map((name) => `agent_${name}`),
  ]);
  for (const name of quotedIn(agent)) made.delete(name);
  return made;
}
