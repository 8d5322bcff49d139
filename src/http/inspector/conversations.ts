import { z } from 'zod';
import { type JsonValue, LegateError, type Task } from '../../protocol/index.ts';
import type { ContextPosition, TaskQuery, TaskRecord } from '../../store/index.ts';
import { ownerKey } from '../../store/index.ts';
import { readTaskAt } from '../../tasks/index.ts';
import {
  type ApiCall,
  audited,
  between,
  bodyOf,
  type Inspection,
  notFound,
  queryOf,
  type Routes,
} from './inspection.ts';
import type {
  ConversationDescription,
  ConversationListView,
  ConversationSummary,
  ForkView,
  TranscriptView,
} from './model.ts';
import type { ConversationOwner, InspectedAssistant } from './options.ts';
import { ownerView, shortLine, textOfParts } from './tasks.ts';

/** Conversations of all callers in all channels: contexts with tasks, and contexts of an assistant. */
export const conversationRoutes: Routes = [
  ['GET', 'conversations', listConversations],
  ['GET', 'conversations/{id}', showConversation],
  ['POST', 'conversations/{id}/fork', forkConversation],
  ['POST', 'conversations/{id}/slots', setSlot],
];

/** Page sizes of reads from the store. A context often has several tasks. */
const taskPage = 200;
const contextPage = 100;
/** Maximum number of conversations that one search reads; the next page continues after them. */
const maxSearched = 1_000;
/** A conversation whose whole log is read counts as this many conversations. */
const wholeLog = 5;
/** Maximum number of tasks shown of one conversation, latest first. */
const maxTasks = 200;

const cursor = z.object({
  /** The last task and the last context of the previous page; null when there are no more. */
  task: z.object({ statusTime: z.number(), id: z.string() }).nullable().optional(),
  context: z.object({ retentionBucket: z.number(), number: z.number() }).nullable().optional(),
});
type Cursor = z.infer<typeof cursor>;

const listQuery = z.object({
  limit: between(1, 100).default(50),
  search: z.string().max(200).default(''),
  after: z
    .string()
    .transform((text, issues): Cursor => {
      try {
        return cursor.parse(JSON.parse(Buffer.from(text, 'base64url').toString()));
      } catch {
        issues.addIssue('must be the `next` of the page before');
        return z.NEVER;
      }
    })
    .optional(),
});

/** One conversation: a context of an owner, and the tasks that the page contained. */
interface Found {
  readonly owner: string;
  readonly id: string;
  readonly tasks: TaskRecord[];
}

/**
 * Lists conversations, latest changes first, in pages. Tasks and contexts are paged separately, so a
 * conversation can appear again on a later page.
 */
async function listConversations(
  inspection: Inspection,
  call: ApiCall,
): Promise<ConversationListView> {
  const { limit, search, after = {} } = queryOf(call, listQuery);
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const conversations: ConversationSummary[] = [];
  const seen = new Set<string>();
  let at = after;
  let searched = 0;
  while (conversations.length < limit && searched < maxSearched && !isOver(at)) {
    const page = await readPage(inspection, at);
    at = page.next;
    for (const found of page.found) {
      const key = `${found.owner} ${found.id}`;
      if (seen.has(key)) continue;
      seen.add(key);
      searched += 1;
      const described = await describe(inspection, call, found);
      if (described === undefined) continue;
      const { summary, texts, all } = described;
      // Chat pages create a conversation when they open. It is listed after the user's first message.
      if (summary.title === '') continue;
      const names = [found.id, summary.owner.subject];
      let isFound = hasAll([...texts, ...names], words);
      if (!isFound && all !== undefined) {
        searched += wholeLog;
        isFound = hasAll([...(await all()), ...names], words);
      }
      if (isFound) conversations.push(summary);
    }
  }
  conversations.sort((one, other) => other.time - one.time);
  const next = Buffer.from(JSON.stringify(at)).toString('base64url');
  return { conversations, ...(!isOver(at) && { next }) };
}

function hasAll(texts: readonly string[], words: readonly string[]): boolean {
  const whole = texts.join('\n').toLowerCase();
  return words.every((word) => whole.includes(word));
}

function isOver({ task, context }: Cursor): boolean {
  return task === null && context === null;
}

async function readPage(
  { store }: Inspection,
  at: Cursor,
): Promise<{ readonly found: readonly Found[]; readonly next: Cursor }> {
  const found = new Map<string, Found>();
  const of = (owner: string, id: string): Found => {
    const key = `${owner} ${id}`;
    const known = found.get(key) ?? { owner, id, tasks: [] };
    found.set(key, known);
    return known;
  };
  let task: Cursor['task'] = null;
  if (at.task !== null) {
    const query: TaskQuery = { limit: taskPage, ...(at.task !== undefined && { after: at.task }) };
    const { records, more } = await store.list(query);
    for (const record of records) of(record.owner, record.contextId).tasks.push(record);
    const last = records.at(-1);
    if (more && last !== undefined) task = { statusTime: last.statusTime, id: last.id };
  }
  let context: Cursor['context'] = null;
  if (at.context !== null) {
    const after: ContextPosition | undefined = at.context;
    const query = { limit: contextPage, ...(after !== undefined && { after }) };
    const contexts = await store.listContexts(query);
    for (const { owner, contextId } of contexts) of(owner, contextId);
    const last = contexts.at(-1);
    if (contexts.length === contextPage && last !== undefined) {
      context = { retentionBucket: last.retentionBucket, number: last.number };
    }
  }
  return { found: [...found.values()], next: { task, context } };
}

interface Described {
  readonly summary: ConversationSummary;
  /** The latest messages, which a search reads first. */
  readonly texts: readonly string[];
  /** Reads all messages; undefined if `texts` has all of them. */
  readonly all: (() => Promise<readonly string[]>) | undefined;
}

/** Undefined for a context with neither tasks nor the state of an assistant. */
async function describe(
  inspection: Inspection,
  call: ApiCall,
  { owner, id, tasks: known }: Found,
): Promise<Described | undefined> {
  const { store, assistant } = inspection;
  const isOurs = ownerView(owner).agent === inspection.agent;
  const state =
    isOurs && assistant !== undefined ? await stateOf(inspection, owner, id) : undefined;
  const said = state === undefined ? undefined : assistant?.describe(state);
  const tasks =
    known.length === 0 && said === undefined
      ? (await store.list({ owner, contextId: id, limit: 20 })).records
      : known;
  const [latest] = tasks;
  const first = tasks.at(-1);
  if (said === undefined && (latest === undefined || first === undefined)) return undefined;
  const {
    title,
    latest: line,
    channel,
    time,
    texts,
  } = said ??
  describeTasks(
    tasks.map(({ snapshot }) => snapshot.body.value),
    latest?.statusTime ?? 0,
  );
  const summary = {
    id,
    owner: ownerView(owner),
    isOwn: owner === operatorsOwner(inspection, call),
    channel,
    title: shortLine(title),
    latest: shortLine(line),
    time,
    ...(latest !== undefined && { state: latest.state }),
  };
  const hasLog = said !== undefined && assistant !== undefined;
  return { summary, texts, all: hasLog ? () => assistant.texts(id, summary.owner) : undefined };
}

async function stateOf(
  { store }: Inspection,
  owner: string,
  id: string,
): Promise<JsonValue | undefined> {
  return (await store.loadContext(owner, id))?.value?.value;
}

/** `tasks` are sorted latest first. Tasks don't record the channel of their messages. */
function describeTasks(tasks: readonly Task[], time: number): ConversationDescription {
  const texts = tasks.toReversed().flatMap(({ history = [], artifacts = [], status }) => {
    const answers = [...artifacts.map(({ parts }) => parts), status.message?.parts ?? []];
    return [...history.map(({ parts }) => parts), ...answers].map(textOfParts);
  });
  const spoken = texts.filter((text) => text !== '');
  return { title: spoken[0] ?? '', latest: spoken.at(-1) ?? '', channel: '', time, texts };
}

/** The owner key of the operator's own calls of the agent. The operator can continue these conversations. */
function operatorsOwner({ agent }: Inspection, { operator }: ApiCall): string {
  return ownerKey({ agent, tenant: operator.tenant, subject: operator.subject });
}

/** The owner of a conversation: from the query, else the operator, else the first owner with this id. */
async function ownerOf(inspection: Inspection, call: ApiCall): Promise<string> {
  const { store } = inspection;
  const { id = '' } = call.params;
  const given = call.query.get('owner');
  if (given !== null && given !== '') return given;
  const own = operatorsOwner(inspection, call);
  const owners = [
    ...(await store.listContexts({ contextId: id, limit: 20 })).map(({ owner }) => owner),
    ...(await store.list({ contextId: id, limit: 20 })).records.map(({ owner }) => owner),
  ];
  const [first] = owners;
  if (first === undefined) throw notFound(`conversation ${id.slice(0, 100)}`);
  return owners.includes(own) ? own : first;
}

async function showConversation(inspection: Inspection, call: ApiCall): Promise<TranscriptView> {
  const { store, assistant, agent } = inspection;
  const { id = '' } = call.params;
  const owner = await ownerOf(inspection, call);
  const { records } = await store.list({ owner, contextId: id, limit: maxTasks });
  const described = await describe(inspection, call, { owner, id, tasks: [...records] });
  if (described === undefined) throw notFound(`conversation ${id.slice(0, 100)}`);
  const tasks: Task[] = [];
  for (const { id: taskId, version } of records.toReversed()) {
    const task = await readTaskAt(store, taskId, version);
    if (task !== undefined) tasks.push(task);
  }
  const view = ownerView(owner);
  const hasTracker = assistant !== undefined && view.agent === agent;
  return {
    summary: described.summary,
    tasks,
    ...(hasTracker && { tracker: await assistant.tracker(id, view) }),
  };
}

function requireAssistant({ assistant }: Inspection): InspectedAssistant {
  if (assistant !== undefined) return assistant;
  throw notFound('assistant here: only conversations of assistants can be forked and edited');
}

/** The owner of a conversation of the inspected agent; a store can have those of other agents, too. */
async function ownOwner(inspection: Inspection, call: ApiCall): Promise<ConversationOwner> {
  const owner = ownerView(await ownerOf(inspection, call));
  if (owner.agent === inspection.agent) return owner;
  throw new LegateError(
    'UNSUPPORTED_OPERATION',
    'the agent of this conversation is served elsewhere; open its own inspector',
  );
}

/** Copies a conversation up to an event into a new conversation of the operator. Executes no actions. */
async function forkConversation(inspection: Inspection, call: ApiCall): Promise<ForkView> {
  const assistant = requireAssistant(inspection);
  const { id = '' } = call.params;
  const { events } = await bodyOf(call, z.object({ events: z.int().min(0) }));
  const owner = await ownOwner(inspection, call);
  const forked = await assistant.fork({ id, owner, events, operator: call.operator });
  audited(inspection, call, 'audit.conversation_forked', { contextId: id, forked });
  return { id: forked };
}

async function setSlot(inspection: Inspection, call: ApiCall): Promise<object> {
  const assistant = requireAssistant(inspection);
  const { id = '' } = call.params;
  const { name, value } = await bodyOf(call, z.object({ name: z.string(), value: z.json() }));
  const owner = await ownOwner(inspection, call);
  await assistant.setSlot({ id, owner, name, value });
  audited(inspection, call, 'audit.slot_set', { contextId: id, slot: name });
  return {};
}
