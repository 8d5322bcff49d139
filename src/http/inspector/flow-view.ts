import type { Flow, Step } from '../../assistant/index.ts';
import type { JsonValue } from '../../protocol/index.ts';
import type { FlowView, StepView } from './model.ts';

/** A flow as a graph: steps, and where each of them leads. */
export function flowView(flow: Flow): FlowView {
  return {
    id: flow.id,
    name: flow.name,
    description: flow.description,
    isPattern: flow.isPattern,
    ...(flow.if !== undefined && { guard: flow.if }),
    first: flow.first,
    steps: Array.from(flow.steps.values(), stepView),
  };
}

function stepView(step: Step): StepView {
  const next = step.next.branches.map(({ if: condition, to }) => ({
    ...(condition !== undefined && { if: condition }),
    to,
  }));
  return { id: step.id, kind: step.kind, ...describe(step), next };
}

function describe(step: Step): Pick<StepView, 'title' | 'target' | 'detail'> {
  switch (step.kind) {
    case 'action':
      return { title: step.action, target: step.action };
    case 'collect':
      return {
        title: `ask for ${step.slot}`,
        target: step.slot,
        ...(step.description !== undefined && { detail: step.description }),
      };
    case 'set_slots':
      return { title: step.slots.map(({ slot, value }) => `${slot} = ${shown(value)}`).join(', ') };
    case 'noop':
      return { title: 'decide' };
    case 'link':
      return { title: `go on with ${step.flow}`, target: step.flow };
    case 'call':
      return {
        title: `call ${step.target}`,
        target: step.target,
        ...(step.mcpServer !== undefined && { detail: `tool of ${step.mcpServer}` }),
      };
  }
}

function shown(value: JsonValue): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
