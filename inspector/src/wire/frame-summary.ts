import type { Part, StreamResponse } from '../../../src/protocol/index.ts';
import type { Tone } from '../ui/badge.tsx';
import { stateName } from '../ui/task-state.ts';

export interface EventSummary {
  readonly kind: 'task' | 'message' | 'status' | 'artifact';
  readonly text: string;
}

export const eventTones: Readonly<Record<EventSummary['kind'], Tone>> = {
  task: 'neutral',
  message: 'accent',
  status: 'info',
  artifact: 'good',
};

/** The summary of an event. */
export function eventSummary(event: StreamResponse): EventSummary {
  if ('task' in event) {
    const { status, artifacts } = event.task;
    const made = artifacts === undefined ? '' : `, ${artifacts.length} artifacts`;
    return { kind: 'task', text: `${stateName(status.state)}${made}` };
  }
  if ('message' in event) {
    const { role, parts } = event.message;
    const who = role === 'ROLE_USER' ? 'caller: ' : '';
    return { kind: 'message', text: who + wordsOf(parts) };
  }
  if ('statusUpdate' in event) {
    const { status } = event.statusUpdate;
    const words = wordsOf(status.message?.parts ?? []);
    return { kind: 'status', text: stateName(status.state) + (words === '' ? '' : ` — ${words}`) };
  }
  const { artifact, append, lastChunk } = event.artifactUpdate;
  const how = append === true ? 'more of ' : '';
  const name = artifact.name ?? shortName(artifact.artifactId);
  const last = lastChunk === true ? ' (last)' : '';
  return { kind: 'artifact', text: `${how}${name}${last} — ${wordsOf(artifact.parts)}` };
}

/** Long ids are generated, and have equal prefixes. */
function shortName(id: string): string {
  return id.length > 24 ? `…${id.slice(-6)}` : id;
}

/** The first words of the parts, on one line. */
export function wordsOf(parts: readonly Part[]): string {
  const hasText = parts.some(({ text }) => text !== undefined && text !== '');
  const words = parts.map((part) => {
    if (part.text !== undefined) return part.text;
    // Prefers text: data is hard to read on one line.
    if (part.data !== undefined) return hasText ? '' : JSON.stringify(part.data);
    return part.filename ?? part.url ?? 'file';
  });
  const line = words.join(' ').replaceAll(/\s+/g, ' ').trim();
  return line.length > 160 ? `${line.slice(0, 160)}…` : line;
}

/** The content of a frame of any kind. */
export function frameSummary(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
