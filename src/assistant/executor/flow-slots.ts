import type { Flow } from '../model.ts';
import { callChain, isPattern, isStarted, segmentsOf, VALIDATE_SLOT } from '../stack/stack.ts';
import { slotSet } from '../tracker/events.ts';
import type { Dialogue } from './dialogue.ts';

/** The slots that a flow and the flows it calls ask for or set. */
export interface FlowSlots {
  readonly all: ReadonlySet<string>;
  /** Those asked for in a collect step. */
  readonly collected: ReadonlySet<string>;
  /** Those that outlive the flow. */
  readonly persisted: ReadonlySet<string>;
}

const known = new WeakMap<ReadonlyMap<string, Flow>, Map<string, FlowSlots>>();

/** Worked out once per flow: flows do not change while they are loaded. */
export function flowSlots(flowId: string, flows: ReadonlyMap<string, Flow>): FlowSlots {
  let byFlow = known.get(flows);
  if (byFlow === undefined) known.set(flows, (byFlow = new Map<string, FlowSlots>()));
  let slots = byFlow.get(flowId);
  if (slots === undefined) byFlow.set(flowId, (slots = readFlowSlots(flowId, flows)));
  return slots;
}

function readFlowSlots(flowId: string, flows: ReadonlyMap<string, Flow>): FlowSlots {
  const all = new Set<string>();
  const collected = new Set<string>();
  const persisted = new Set<string>();
  // Flows may call each other in a circle; each is read once.
  const pending = [flowId];
  const seen = new Set(pending);
  for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
    const flow = flows.get(id);
    for (const name of flow?.persistedSlots ?? []) persisted.add(name);
    for (const step of flow?.steps.values() ?? []) {
      if (step.kind === 'collect') {
        all.add(step.slot);
        collected.add(step.slot);
        if (!step.resetAfterFlowEnds) persisted.add(step.slot);
      } else if (step.kind === 'set_slots') {
        for (const { slot } of step.slots) all.add(slot);
      } else if (step.kind === 'call' && step.mcpServer === undefined && !seen.has(step.target)) {
        seen.add(step.target);
        pending.push(step.target);
      }
    }
  }
  return { all, collected, persisted };
}

/**
 * Puts the slots of an ended flow back to their initial values, apart from those it persists and
 * those that another flow on the stack still works with. What actions set, stays.
 */
export function resetSlots(dialogue: Dialogue, flowId: string): void {
  const { all, persisted } = flowSlots(flowId, dialogue.flows);
  const inUse = slotsInUse(dialogue, flowId);
  for (const name of all) {
    const slot = dialogue.domain.slots.get(name);
    if (slot === undefined || persisted.has(name) || inUse.has(name)) continue;
    dropValidation(dialogue, name);
    if (dialogue.tracker.slot(name) === slot.initialValue) continue;
    dialogue.tracker.apply(slotSet(name, slot.initialValue));
  }
}

/** A value that is gone cannot be invalid: nobody has to be asked for it. */
function dropValidation({ tracker }: Dialogue, slot: string): void {
  const kept = tracker.stack.filter(
    (frame) => !(isPattern(frame, VALIDATE_SLOT) && frame.context['validate'] === slot),
  );
  if (kept.length < tracker.stack.length) tracker.setStack(kept);
}

/** The slots of the user flows on the stack, as far as the end of a flow must leave them alone. */
function slotsInUse(dialogue: Dialogue, ended: string): ReadonlySet<string> {
  const inUse = new Set<string>();
  for (const segment of segmentsOf(dialogue.tracker.stack)) {
    // The same flow anew ("no, start over with Bob") keeps only what the user just said.
    const isAnew = segment.root.flowId === ended && !isStarted(segment);
    for (const frame of callChain(segment)) {
      for (const name of flowSlots(frame.flowId, dialogue.flows).all) {
        if (!isAnew || dialogue.facts.filled.has(name)) inUse.add(name);
      }
    }
  }
  return inUse;
}
