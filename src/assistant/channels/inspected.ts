import type { FlowView, InspectedAssistant, StepView } from '../../http/index.ts';
import { type JsonObject, type JsonValue, isJsonObject } from '../../protocol/index.ts';
import type { Flow, Step } from '../model.ts';
import type { Project } from '../project/load-project.ts';
import type { Conversations } from './conversations.ts';
import type { ModelHolder } from './model-holder.ts';

/** An assistant as the inspector shows it. */
export function inspectedAssistant(
  models: ModelHolder,
  conversations: () => Conversations,
): InspectedAssistant {
  return {
    flows: () => Array.from(models.require().project.flows.values(), flowView),
    subAgents() {
      const project = models.current?.project;
      return project === undefined ? [] : subAgentsOf(project);
    },
    tracker: (id, subject) => conversations().of(subject).tracker(id),
  };
}

function subAgentsOf(project: Project): ReturnType<InspectedAssistant['subAgents']> {
  return Array.from(project.subAgents.values(), (one) => {
    const { name, description } = one;
    if (one.protocol !== 'A2A') {
      return { name, description, kind: one.module === undefined ? 'model' : 'code' };
    }
    const card = cardIn(project.files.get(one.agentCard));
    const isAddress = /^https?:\/\//i.test(one.agentCard);
    return {
      name,
      description,
      kind: 'A2A',
      ...(isAddress && { address: one.agentCard }),
      ...(card !== undefined && { card }),
    };
  });
}

function cardIn(text: string | undefined): JsonObject | undefined {
  if (text === undefined) return undefined;
  try {
    const card: unknown = JSON.parse(text);
    return isJsonObject(card) ? card : undefined;
  } catch {
    // The loader of the project reports this error.
    return undefined;
  }
}

/** A flow as a graph: steps, and where each of them leads. */
function flowView(flow: Flow): FlowView {
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
