import type {
  ConversationDescription,
  FlowView,
  InspectedAssistant,
  StepView,
} from '../../http/index.ts';
import {
  invalidParams,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  shortened,
  textOfValue,
} from '../../protocol/index.ts';
import { coerceSlotValue } from '../domain/slot.ts';
import type { Flow, Step } from '../model.ts';
import type { Project } from '../project/load-project.ts';
import { loadState, type TrackerState } from '../tracker/state.ts';
import type { Conversations } from './conversations.ts';
import { runSavedTest, savedTests, type TestPlaces, testRunView } from './inspected-tests.ts';
import type { ModelHolder } from './model-holder.ts';

/** An assistant as the inspector shows it. */
export function inspectedAssistant(
  models: ModelHolder,
  conversations: () => Conversations,
  tests: TestPlaces,
): InspectedAssistant {
  return {
    flows: () => Array.from(models.require().project.flows.values(), flowView),
    subAgents() {
      const project = models.current?.project;
      return project === undefined ? [] : subAgentsOf(project);
    },
    tracker: (id, owner) => conversations().of(owner).tracker(id),
    describe: describeConversation,
    async texts(id, owner) {
      const { events } = await conversations().of(owner).tracker(id);
      return Array.isArray(events) ? events.filter(isJsonObject).flatMap(spokenIn) : [];
    },
    async fork({ id, owner, events, operator }) {
      const { events: log } = await conversations().of(owner).tracker(id);
      const copied = Array.isArray(log) ? log.filter(isJsonObject).slice(0, events) : [];
      const forked = crypto.randomUUID();
      await conversations().of(operator).import(forked, copied);
      return forked;
    },
    async setSlot({ id, owner, name, value }) {
      const { slots } = models.require().assistant.domain;
      const slot = slots.get(name);
      if (slot === undefined) {
        const description = `the domain has no slot ${name}; it has ${[...slots.keys()].join(', ')}`;
        throw invalidParams({ field: 'name', description });
      }
      const coerced = coerceSlotValue(slot, value);
      if (!coerced.ok) {
        const wanted = slot.values?.map(String).join(', ') ?? slot.type;
        throw invalidParams({ field: 'value', description: `must fit the slot: ${wanted}` });
      }
      const event = { event: 'slot', name, value: coerced.value };
      await conversations().of(owner).record(id, [event]);
    },
    tests: () => savedTests(tests),
    async runTest(test, { operator, signal }) {
      const result = await runSavedTest(models.require().project, tests, test, signal);
      const contextId = `test-${crypto.randomUUID()}`;
      await conversations().of(operator).import(contextId, result.events);
      return testRunView(result, contextId);
    },
  };
}

/** Undefined for a state that this version can't read. */
function describeConversation(state: JsonValue): ConversationDescription | undefined {
  let read: TrackerState;
  try {
    read = loadState(isJsonObject(state) ? state : {});
  } catch {
    return undefined;
  }
  const { opening, transcript, latestInputChannel, activeAt } = read;
  // Channels send `/session_start` when a conversation opens; it is not a message of the user.
  const said = transcript.filter(({ text }) => text !== '' && text !== '/session_start');
  return {
    title: opening ?? said.find(({ speaker }) => speaker === 'user')?.text ?? '',
    latest: said.at(-1)?.text ?? '',
    channel: latestInputChannel ?? '',
    time: Math.round(activeAt * 1_000),
    texts: said.map(({ text }) => text),
  };
}

function spokenIn({ event, text }: JsonObject): readonly string[] {
  const isSpoken = (event === 'user' || event === 'bot') && typeof text === 'string';
  return isSpoken ? [text] : [];
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

/** A flow as a graph of its steps. */
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
      return {
        title: step.slots
          .map(({ slot, value }) => `${slot} = ${shortened(textOfValue(value), 40)}`)
          .join(', '),
      };
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
