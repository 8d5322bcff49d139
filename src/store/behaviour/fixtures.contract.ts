import {
  Json,
  type JsonValue,
  type StreamResponse,
  type Task,
  type TaskState,
} from '../../protocol/index.ts';
import type {
  Admission,
  AdmitOutcome,
  Append,
  AppendOutcome,
  ContextWrite,
  LogEvent,
  PushRegistration,
  Store,
  TurnRecord,
} from '../contract.ts';

/** Gives the store of the test that is running. */
export type CurrentStore = () => Store;

/** Sets the clock of that store. */
export type SetTime = (time: number) => Promise<void>;

export const alice = '["agent","","alice"]';
export const bob = '["agent","","bob"]';

export const completed = 'TASK_STATE_COMPLETED';
export const working = 'TASK_STATE_WORKING';
export const inputRequired = 'TASK_STATE_INPUT_REQUIRED';

export function taskBody(
  id: string,
  contextId: string,
  state: TaskState = 'TASK_STATE_SUBMITTED',
): Json<Task> {
  return Json.of<Task>({ id, contextId, status: { state } });
}

/** The admission of a first message: task `t` in context `c`, run by `r1` at time 1000. */
export function admission(changes: Partial<Admission> = {}): Admission {
  const taskId = changes.taskId ?? 't';
  const contextId = changes.contextId ?? 'c';
  return {
    agent: 'agent',
    owner: alice,
    key: contextId,
    taskId,
    contextId,
    replica: 'r1',
    now: 1000,
    request: Json.of({ for: taskId }),
    task: taskBody(taskId, contextId),
    maxContexts: 0,
    ...changes,
  };
}

/** The admission of a message to a task that exists. */
export function continuation(changes: Partial<Admission> = {}): Admission {
  const { task: _, ...rest } = admission(changes);
  return rest;
}

export type Admitted = Extract<AdmitOutcome, { kind: 'admitted' }>;
export type Appended = Extract<AppendOutcome, { kind: 'appended' }>;

export async function admit(store: Store, changes: Partial<Admission> = {}): Promise<Admitted> {
  const outcome = await store.admit(admission(changes));
  if (outcome.kind !== 'admitted') throw new Error(`admitted expected, not ${outcome.kind}`);
  return outcome;
}

export async function carryOn(store: Store, changes: Partial<Admission> = {}): Promise<Admitted> {
  const outcome = await store.admit(continuation(changes));
  if (outcome.kind !== 'admitted') throw new Error(`admitted expected, not ${outcome.kind}`);
  return outcome;
}

export function statusEvent(sequence: number, state: TaskState, taskId = 't'): LogEvent {
  const body: StreamResponse = { statusUpdate: { taskId, contextId: 'c', status: { state } } };
  return { sequence, body: Json.of(body) };
}

/** One status event after `version`, at time 2000, by `r1`. */
export function statusAppend(
  taskId: string,
  version: number,
  state: TaskState,
  changes: Partial<Append> = {},
): Append {
  return {
    taskId,
    version,
    events: [statusEvent(version + 1, state, taskId)],
    state,
    statusTime: 2000,
    replica: 'r1',
    now: 2000,
    ...changes,
  };
}

/** What a runner writes last: one status event that ends the turn. */
export function ending(
  turn: TurnRecord,
  version: number,
  state: TaskState = completed,
  changes: Partial<Append> = {},
): Append {
  return statusAppend(turn.taskId, version, state, {
    turn: { id: turn.id, replica: changes.replica ?? 'r1' },
    endsTurn: true,
    ...changes,
  });
}

export async function append(store: Store, write: Append): Promise<Appended> {
  const outcome = await store.append(write);
  if (outcome.kind !== 'appended') throw new Error(`appended expected, not ${outcome.kind}`);
  return outcome;
}

/** A task that has run and ended. */
export async function finishedTask(
  store: Store,
  changes: Partial<Admission> = {},
  statusTime = 2000,
): Promise<void> {
  const { turn } = await admit(store, changes);
  await append(store, ending(turn, 1, completed, { statusTime }));
}

export function webhook(id = 'w', wireVersion: '0.3' | '1.0' = '1.0'): PushRegistration {
  return { config: { id, url: `https://example.com/${id}` }, wireVersion };
}

/** The events of a task as plain values. */
export async function log(store: Store, taskId = 't'): Promise<[number, StreamResponse][]> {
  const events = await store.readEvents(taskId, 0, 1000);
  return events.map(({ sequence, body }) => [sequence, body.value]);
}

let commands = 0;

/** Writes a context by a command of its own; at time 1000 unless `now` says otherwise. */
export async function writeContext(
  store: Store,
  { now = 1000, ...context }: ContextWrite & { readonly now?: number },
): Promise<void> {
  commands += 1;
  const id = `command-${commands}`;
  const replica = 'writer';
  const request = Json.of<JsonValue>(null);
  const { turn } = await store.commands.queue({ agent: 'agent', key: id, id, replica, request });
  const { kind } = await store.commands.end({ turn, replica, context, now });
  if (kind !== 'ended') throw new Error(`ended expected, not ${kind}`);
}
