import { oncePer } from '../once-per.ts';
import type { CollectStep, Domain, Flow, Slot, Step } from '../model.ts';

type Flows = ReadonlyMap<string, Flow>;

/** The slots that a flow and the flows it calls ask for or set. */
interface FlowSlots {
  readonly all: ReadonlySet<string>;
  /** The slots of collect steps. */
  readonly collected: ReadonlySet<string>;
  /** The slots that keep their values after the flow. */
  readonly persisted: ReadonlySet<string>;
}

/** A slot that a flow asks for, and the step that asks. */
export interface FlowQuestion {
  readonly slot: Slot;
  readonly step: CollectStep;
  /** The flow of the step: the flow itself, or one that it calls. */
  readonly flow: Flow;
}

// Computed once: loaded flows are immutable.
const slotsIn = oncePer((flows: Flows) => oncePer((flow: Flow) => readSlots(flow, flows)));
const questionsIn = oncePer((flows: Flows) =>
  oncePer((domain: Domain) => oncePer((flow: Flow) => readQuestions(flow, flows, domain))),
);
const noSlots: FlowSlots = { all: new Set(), collected: new Set(), persisted: new Set() };

export function flowSlots(flowId: string, flows: Flows): FlowSlots {
  const flow = flows.get(flowId);
  return flow === undefined ? noSlots : slotsIn(flows)(flow);
}

/** The questions of a flow and the flows it calls, one per slot, in the order of the files. */
export function questionsOf(flow: Flow, flows: Flows, domain: Domain): readonly FlowQuestion[] {
  return questionsIn(flows)(domain)(flow);
}

/** The steps of a flow, and after each call the steps of the called flow. Each flow is visited once. */
function* stepsWithCalls(
  flow: Flow | undefined,
  flows: Flows,
  seen: Set<Flow> = new Set(),
): Generator<{ readonly flow: Flow; readonly step: Step }> {
  if (flow === undefined || seen.has(flow)) return;
  seen.add(flow);
  for (const step of flow.steps.values()) {
    yield { flow, step };
    if (step.kind === 'call' && step.mcpServer === undefined) {
      yield* stepsWithCalls(flows.get(step.target), flows, seen);
    }
  }
}

function readSlots(first: Flow, flows: Flows): FlowSlots {
  const all = new Set<string>();
  const collected = new Set<string>();
  const persisted = new Set<string>();
  for (const { flow, step } of stepsWithCalls(first, flows)) {
    for (const name of flow.persistedSlots) persisted.add(name);
    if (step.kind === 'collect') {
      all.add(step.slot);
      collected.add(step.slot);
      if (!step.resetAfterFlowEnds) persisted.add(step.slot);
    } else if (step.kind === 'set_slots') {
      for (const { slot } of step.slots) all.add(slot);
    }
  }
  return { all, collected, persisted };
}

function readQuestions(first: Flow, flows: Flows, domain: Domain): readonly FlowQuestion[] {
  const questions = new Map<string, FlowQuestion>();
  for (const { flow, step } of stepsWithCalls(first, flows)) {
    if (step.kind !== 'collect') continue;
    const slot = domain.slots.get(step.slot);
    if (slot === undefined || questions.has(slot.name)) continue;
    questions.set(slot.name, { slot, step, flow });
  }
  return [...questions.values()];
}

/** Whether a user message can fill the slot. */
export function isFilledByUser(slot: Slot): boolean {
  return slot.type !== 'list' && slot.mappings.some((mapping) => mapping.type === 'from_llm');
}
