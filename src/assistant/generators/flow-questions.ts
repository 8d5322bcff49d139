import type { CollectStep, Domain, Flow, Slot } from '../model.ts';

/** A slot that a flow asks for, and where. */
export interface FlowQuestion {
  readonly slot: Slot;
  readonly step: CollectStep;
  /** The flow of the step: the flow itself, or one that it calls. */
  readonly flow: Flow;
}

const known = new WeakMap<ReadonlyMap<string, Flow>, Map<string, readonly FlowQuestion[]>>();

/**
 * What a flow and the flows it calls ask for, each slot once, in the order of the files. Worked out
 * once per flow: flows do not change while they are loaded.
 */
export function questionsOf(
  flow: Flow,
  allFlows: ReadonlyMap<string, Flow>,
  domain: Domain,
): readonly FlowQuestion[] {
  let byFlow = known.get(allFlows);
  if (byFlow === undefined) known.set(allFlows, (byFlow = new Map()));
  let questions = byFlow.get(flow.id);
  if (questions === undefined) {
    byFlow.set(flow.id, (questions = readQuestions(flow, allFlows, domain)));
  }
  return questions;
}

function readQuestions(
  first: Flow,
  allFlows: ReadonlyMap<string, Flow>,
  domain: Domain,
): FlowQuestion[] {
  const questions = new Map<string, FlowQuestion>();
  const seen = new Set<string>();
  const read = (flow: Flow): void => {
    // Flows may call each other in a circle; each is read once.
    if (seen.has(flow.id)) return;
    seen.add(flow.id);
    for (const step of flow.steps.values()) {
      if (step.kind === 'collect') {
        const slot = domain.slots.get(step.slot);
        if (slot !== undefined && !questions.has(slot.name)) {
          questions.set(slot.name, { slot, step, flow });
        }
      } else if (step.kind === 'call' && step.mcpServer === undefined) {
        const called = allFlows.get(step.target);
        if (called !== undefined) read(called);
      }
    }
  };
  read(first);
  return [...questions.values()];
}

/** Whether what a user says may fill the slot. */
export function isFilledByUser(slot: Slot): boolean {
  return slot.type !== 'list' && slot.mappings.some((mapping) => mapping.type === 'from_llm');
}
