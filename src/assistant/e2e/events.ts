import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import type { TrackerEvent } from '../conversation.ts';

/** Events of tests in the words of tests, one line each. */

export function flowLine(event: TrackerEvent): string {
  const { event: kind, flow_id: flow, step_id: step } = event as JsonObject;
  return step === undefined
    ? `${text(kind)} ${text(flow)}`
    : `${text(kind)} ${text(flow)} at ${text(step)}`;
}

export function slotLine({ name, value }: TrackerEvent): string {
  return `${text(name)} = ${JSON.stringify(value)}`;
}

export function botLine(event: TrackerEvent): string {
  const name = utterOf(event);
  const titles = buttonsOf(event).map((button) => `[${text(button['title'])}]`);
  const said = [JSON.stringify(event['text'] ?? null), ...titles].join(' ');
  return name === undefined ? said : `${name}: ${said}`;
}

export function actionLine({ name }: TrackerEvent): string {
  return text(name);
}

/** The response that was said, if it was one. */
export function utterOf(event: TrackerEvent): string | undefined {
  const name = (event['metadata'] as JsonObject | undefined)?.['utter_action'];
  return typeof name === 'string' ? name : undefined;
}

export function buttonsOf(event: TrackerEvent): readonly JsonObject[] {
  const buttons = (event['data'] as JsonObject | undefined)?.['buttons'];
  return Array.isArray(buttons) ? (buttons as readonly JsonObject[]) : [];
}

export function text(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}

/** Whether a slot has the value that a test names; what YAML makes of it need not be its type. */
export function isSameValue(actual: JsonValue | undefined, expected: JsonValue): boolean {
  if (isPlain(actual) && isPlain(expected)) {
    if (typeof actual === typeof expected) return actual === expected;
    const plain = (value: string | number | boolean) => String(value).trim().toLowerCase();
    return actual !== null && expected !== null && plain(actual) === plain(expected);
  }
  return JSON.stringify(sorted(actual)) === JSON.stringify(sorted(expected));
}

function isPlain(value: JsonValue | undefined): value is string | number | boolean | null {
  return typeof value !== 'object' || value === null;
}

/** The order of keys says nothing. */
function sorted(value: JsonValue | undefined): JsonValue | undefined {
  if (Array.isArray(value)) return value.map((item: JsonValue) => sorted(item) ?? null);
  if (typeof value !== 'object' || value === null) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sorted((value as JsonObject)[key]) ?? null]));
}
