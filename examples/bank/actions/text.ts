import type { ActionContext } from 'legate/assistant';

/** The value of a text slot; empty if it has none. */
export function textOf(slots: ActionContext['slots'], name: string): string {
  const value = slots[name];
  return typeof value === 'string' ? value : '';
}
