import { hash } from 'node:crypto';
import type { Dialogue } from './dialogue.ts';

/**
 * The id of a conversation that is about to begin elsewhere, in the form of a UUID. The same when the
 * turn is taken again, so that a message that was sent before is known there; another one for each
 * beginning within a turn.
 */
export function newContextId({ tracker }: Dialogue, place: readonly string[]): string {
  const { events, state } = tracker;
  const heard = events.findLast(({ event }) => event === 'user')?.['message_id'] ?? null;
  const begun = events.filter(({ event }) => event === 'agent_started').length;
  const identity = JSON.stringify([state.senderId, heard, begun, ...place]);
  const digits = hash('sha256', identity, 'hex');
  // Version 8 is for ids of one's own making.
  const parts = [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `8${digits.slice(13, 16)}`,
    `a${digits.slice(17, 20)}`,
    digits.slice(20, 32),
  ];
  return parts.join('-');
}
