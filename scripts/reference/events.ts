import { mismatches, sources } from './scan.ts';

/** Events of conversations, as `GET /conversations/{id}/tracker` shows them. */
const conversationEvents: Readonly<Record<string, string>> = {
  user: 'The user said something; `parse_data.commands` is what was understood, `parse_data.prompts` what a model was asked for it',
  bot: 'The assistant said something; `metadata` says where it comes from',
  action:
    'An action ran; that of `action_listen`, which ends a turn, has `metadata.execution_times`, and `metadata.prompts` where models were asked',
  action_execution_rejected: 'An action refused to run',
  slot: 'A slot has a new value; `filled_by` says by whom',
  session_started: 'A session began',
  session_ended: 'It ended, with `_reason`',
  conversation_inactive: 'The user has said nothing for as long as a session lasts',
  restart: 'All before is forgotten',
  flow_started: 'A flow began',
  flow_completed: 'It came to its end',
  flow_cancelled: 'The user no longer wanted it',
  flow_interrupted: 'Another flow came between',
  flow_resumed: 'It goes on',
  agent_started: 'A sub agent began',
  agent_completed: 'It is done',
  agent_interrupted: 'Another flow came between',
  agent_resumed: 'It goes on',
  agent_cancelled: 'It was stopped, or failed',
};

/** What agents yield. */
const turnEvents: Readonly<Record<string, string>> = {
  working: 'Words or data on the way; the task is `TASK_STATE_WORKING`',
  'artifact(...)': 'A whole artifact',
  chunk: 'A piece of an artifact: `append`, `lastChunk`',
  message: 'A plain message instead of a task; must be the only event',
  completed: 'The end. A turn that ends without one is completed',
  'input-required': 'A question; the next message with the same `taskId` answers it',
  'auth-required': 'Somebody has to sign in first',
  rejected: 'The agent does not do that',
  failed: 'It could not be done: `error_type` and `error_info`',
  canceled: 'It was cancelled',
};

/** What subscribers see, on every binding. */
const streamEvents: Readonly<Record<string, string>> = {
  task: 'The task as it is: first on every stream',
  statusUpdate: 'Another state, with its message',
  artifactUpdate: 'An artifact, or a piece of one',
  message: 'A plain message, and nothing after it',
};

export function eventsPage(): string {
  const missing = differences();
  if (missing.length > 0) throw new Error(missing.join('\n'));
  return [
    '# Events',
    '## Of turns',
    'What an agent yields. Each is stored before anybody is shown it.',
    table('event', turnEvents),
    '## Of streams',
    'What `SendStreamingMessage` and `SubscribeToTask` give, one member each. Over SSE each has its number as `id:`; `Last-Event-ID` resumes after it, on any replica.',
    table('member', streamEvents),
    '## Of conversations',
    'What assistants keep, in the format of Rasa trackers. Every event has a `timestamp`.',
    table('event', conversationEvents),
    'What is logged, counted and traced: [telemetry](telemetry.md).',
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
