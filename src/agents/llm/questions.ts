import { isDeepStrictEqual } from 'node:util';
import {
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Message,
  type Part,
  shortened,
  textOf,
  textOfValue,
} from '../../protocol/index.ts';
import type { TurnEnd } from '../agent.ts';
import {
  answered,
  type Ask,
  type Asking,
  type CallState,
  isAsking,
} from '../tool-loop/call-state.ts';
import { readConsent } from './consent.ts';

/**
 * The calls whose questions the caller is asked now: all questions of the agent itself, or else the
 * first question of a tool, whose form is arbitrary.
 */
function presented(calls: readonly CallState[]): readonly Asking[] {
  const asking = calls.filter(isAsking);
  const own = asking.filter(({ ask }) => ask.request !== 'answer');
  return own.length > 0 ? own : asking.slice(0, 1);
}

/** The end of a turn that waits for its caller: one data part for each question, then text. */
export function askingEnd(calls: readonly CallState[], note?: string): TurnEnd {
  const asking = presented(calls);
  const needsConsent = asking.every(({ ask }) =>
    ask.request === 'answer' ? ask.isAuthorization : ask.request === 'credential',
  );
  const lines = [...(note === undefined ? [] : [note]), ...asking.flatMap(questionOf)];
  const parts = asking.flatMap((call): readonly Part[] =>
    call.ask.request === 'answer' ? call.ask.question : [{ data: describe(call, call.ask) }],
  );
  return {
    kind: needsConsent ? 'auth-required' : 'input-required',
    parts: [
      ...parts,
      ...(lines.length > 0 ? [{ text: lines.join('\n'), ...buttonsFor(asking) }] : []),
    ],
  };
}

/** Buttons, as in assistants: each sends a text that `readAnswers` parses. */
function buttonsFor(asking: readonly Asking[]): Pick<Part, 'metadata'> {
  const confirmations = asking.filter(({ ask }) => ask.request === 'confirmation');
  const buttons = confirmations.flatMap(({ id, name }) => {
    const [title, target] = confirmations.length === 1 ? ['', ''] : [` ${name} (${id})`, ` ${id}`];
    return [
      { title: `Approve${title}`, payload: `yes${target}` },
      { title: `Deny${title}`, payload: `no${target}` },
    ];
  });
  return buttons.length === 0 ? {} : { metadata: { message: { buttons } } };
}

function describe(call: CallState, ask: Exclude<Ask, { request: 'answer' }>): JsonObject {
  return { ...ask, callId: call.id, tool: call.name, arguments: call.input };
}

function questionOf({ name, input, ask }: Asking): readonly string[] {
  switch (ask.request) {
    case 'confirmation':
      return [
        ...(ask.hint === undefined ? [] : [ask.hint]),
        `May I run ${name}? (yes or no)`,
        ...argumentLines(input),
      ];
    case 'credential': {
      const where = ask.authorizationUrl === undefined ? '' : ` at ${ask.authorizationUrl}`;
      return [ask.hint ?? `${name} needs your consent for ${ask.scheme}${where}.`];
    }
    case 'result':
      return [`${name} has started; please send its result when there is one.`];
    case 'answer':
      return [];
  }
}

const maxArgumentLines = 20;
const maxArgumentLength = 200;

/** The arguments of a call as text. */
function argumentLines(input: JsonValue): readonly string[] {
  const entries = isJsonObject(input) ? Object.entries(input) : [];
  const lines = entries.slice(0, maxArgumentLines).map(([name, value]) => {
    return `  ${name}: ${shortened(textOfValue(value), maxArgumentLength)}`;
  });
  const more = entries.length - lines.length;
  return more > 0 ? [...lines, `  and ${more} more`] : lines;
}

export interface Answered {
  readonly calls: readonly CallState[];
  /** The ids of calls whose tools resume with the message. */
  readonly resuming: readonly string[];
  /** Text beside the answers, which the model gets. */
  readonly remarks: readonly Part[];
  /** Explains to the caller why questions remain open. */
  readonly note?: string;
}

/**
 * Matches a message to the open questions. Data parts answer by `callId`, which is optional if one
 * question is open: `{confirmed}`, `{result}`, `{error}` or `{credential}`. Text answers the remaining
 * questions. Only a clear yes confirms, and one yes confirms one call. An unclear answer, or one with
 * other arguments, leaves its question open.
 */
export function readAnswers(message: Message, calls: readonly CallState[]): Answered {
  const asking = presented(calls);
  const only = asking.length === 1 ? asking[0] : undefined;
  if (only?.ask.request === 'answer') return toTool(message, calls, only.id, only.ask);

  const changes = new Map<string, CallState>();
  const given = answersIn(message.parts);
  const open = (note: string): Answered => ({ calls, resuming: [], remarks: [], note });
  for (const answer of given) {
    const id = answer['callId'];
    const call = id === undefined ? only : asking.find((each) => each.id === id);
    if (call === undefined || changes.has(call.id)) continue;
    if (changesArguments(call, answer)) {
      return open(
        'The arguments of a call cannot be changed: please confirm it as it is, or deny it and say what you want instead.',
      );
    }
    const changed = applyData(call, call.ask, answer);
    if (changed !== undefined) changes.set(call.id, changed);
  }

  const text = textOf(message).trim();
  const confirms = [...changes.values()].some(({ isConfirmed }) => isConfirmed === true);
  if (confirms && readConsent(text).meaning === 'no') {
    return open('The data says yes and the text says no: please answer yes or no.');
  }
  // Text beside data is a remark; text alone is the answer.
  if (changes.size > 0) return finish(calls, changes, text);
  const isFree =
    only?.ask.request === 'result' && given.every(({ callId }) => callId === undefined);
  if (given.length > 0 && text === '' && !isFree) {
    const isConfirmation = asking.some(({ ask }) => ask.request === 'confirmation');
    const fields = isConfirmation ? 'its callId, and "confirmed": true or false' : 'its callId';
    return open(`This answers no open question: please answer each with ${fields}.`);
  }
  return readText(message, calls, asking);
}

/** Reads a message without data: its text answers all open questions. */
function readText(
  message: Message,
  calls: readonly CallState[],
  asking: readonly Asking[],
): Answered {
  const text = textOf(message).trim();
  const open = (note: string): Answered => ({ calls, resuming: [], remarks: [], note });
  const decided = (call: CallState, isConfirmed: boolean): CallState =>
    isConfirmed ? answered(call, { isConfirmed }) : denied(call);
  const confirmations = asking.filter(({ ask }) => ask.request === 'confirmation');
  const pressed = confirmations.find(({ id }) => text === `yes ${id}` || text === `no ${id}`);
  if (pressed !== undefined) {
    return finish(calls, new Map([[pressed.id, decided(pressed, text.startsWith('yes'))]]), '');
  }
  const { meaning, saysMore } = readConsent(text);
  if (meaning === 'yes' && confirmations.length > 1) {
    return open('Several calls wait for confirmation: please answer each with its callId.');
  }
  if (meaning === 'unclear' && confirmations.length > 0) {
    return open(
      'Please answer yes or no. To have something else done, say no and what you want instead.',
    );
  }
  const changes = new Map<string, CallState>();
  let isUnderstood = !saysMore;
  for (const call of asking) {
    const { ask } = call;
    if (ask.request === 'confirmation') {
      changes.set(call.id, decided(call, meaning === 'yes'));
    } else if (ask.request === 'credential') {
      changes.set(call.id, answered(call, { consents: (call.consents ?? 0) + 1 }));
      isUnderstood = true;
    } else if (asking.length === 1) {
      changes.set(call.id, answered(call, { output: { type: 'value', value: resultOf(message) } }));
      isUnderstood = true;
    }
  }
  return finish(calls, changes, isUnderstood ? '' : text);
}

function finish(
  calls: readonly CallState[],
  changes: ReadonlyMap<string, CallState>,
  text: string,
): Answered {
  return {
    calls: calls.map((call) => changes.get(call.id) ?? call),
    resuming: [],
    remarks: text === '' ? [] : [{ text }],
  };
}

function toTool(
  message: Message,
  calls: readonly CallState[],
  id: string,
  ask: Extract<Ask, { request: 'answer' }>,
): Answered {
  if (ask.resumes) return { calls, resuming: [id], remarks: [] };
  const output = { type: 'value' as const, value: resultOf(message) };
  return {
    calls: calls.map((call) =>
      call.id === id && isAsking(call) ? answered(call, { output }) : call,
    ),
    resuming: [],
    remarks: [],
  };
}

/**
 * Whether an answer has other arguments than its call: under `arguments` or `input`, or under their
 * names beside `confirmed`.
 */
function changesArguments({ input, ask }: Asking, answer: JsonObject): boolean {
  if (ask.request !== 'confirmation') return false;
  const own = isJsonObject(input) ? input : {};
  return Object.entries(answer).some(([name, value]) => {
    if (answerFields.has(name)) return false;
    if (name !== 'arguments' && Object.hasOwn(own, name))
      return !isDeepStrictEqual(value, own[name]);
    return (name === 'arguments' || name === 'input') && !isDeepStrictEqual(value, input);
  });
}

/** Fields of an answer, and of a question that a client sends back with its answer. */
const answerFields = new Set(['callId', 'confirmed', 'reason', 'request', 'tool', 'hint']);

function applyData(call: CallState, ask: Ask, answer: JsonObject): CallState | undefined {
  switch (ask.request) {
    case 'confirmation':
      if (answer['confirmed'] === true) return answered(call, { isConfirmed: true });
      return answer['confirmed'] === false ? denied(call, answer['reason']) : undefined;
    case 'credential': {
      const reference = answer['credential'];
      if (typeof reference !== 'string') return undefined;
      return answered(call, { reference, consents: (call.consents ?? 0) + 1 });
    }
    case 'result':
      if (typeof answer['error'] === 'string') {
        return answered(call, { output: { type: 'error', value: answer['error'] } });
      }
      if (answer['result'] === undefined) return undefined;
      return answered(call, { output: { type: 'value', value: answer['result'] } });
    case 'answer':
      return undefined;
  }
}

function denied(call: CallState, reason?: JsonValue): CallState {
  const why = typeof reason === 'string' && reason !== '' ? `: ${reason}` : '';
  const value = `The user did not confirm this call, so it was not carried out${why}`;
  return answered(call, { output: { type: 'denied', value } });
}

/** The objects in a message's data parts, single or in lists. */
function answersIn(parts: readonly Part[]): readonly JsonObject[] {
  return parts.flatMap(({ data }) => {
    return (isJsonList(data) ? data : [data]).filter(isJsonObject);
  });
}

/** A whole message as the result of a call. */
function resultOf(message: Message): JsonValue {
  const only = message.parts.length === 1 ? message.parts[0] : undefined;
  if (only?.data !== undefined) return only.data;
  const text = textOf(message);
  const data = message.parts.flatMap((part) => (part.data === undefined ? [] : [part.data]));
  return data.length === 0 ? text : { text, data };
}
