import type { JsonValue } from '../../../protocol/index.ts';
import type { StackFrame } from '../../conversation.ts';
import { contextOf, type Dialogue } from '../dialogue.ts';
import { listOf } from '../flow-end.ts';

const DEFAULT_OPTIONS = 3;

/** Writes the choice of flows into the pattern's context: each once, and not too many. */
export function clarifyFlows(dialogue: Dialogue, frame: StackFrame | undefined): void {
  if (frame?.type !== 'pattern') return;
  const limit = dialogue.tracker.slot('max_clarification_options');
  const most = typeof limit === 'number' && limit >= 1 ? Math.floor(limit) : DEFAULT_OPTIONS;
  const given = contextOf(frame)['names'];
  const all: readonly JsonValue[] = Array.isArray(given) ? given : [];
  const names = [...new Set(all.filter((name) => typeof name === 'string'))].slice(0, most);
  const context = { ...frame.context, names, clarification_options: listOf(names) };
  dialogue.replace({ ...frame, context });
}
