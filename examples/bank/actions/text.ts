import type { ActionContext } from 'legate/assistant';

/** What a slot of type text holds; an empty text when nothing. */
export function textOf(slots: ActionContext['slots'], name: string): string {
  const value = slots[name];
  return typeof value === 'string' ? value : '';
}
