import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import type { BotMessage } from '../bot-message.ts';
import type { Flow } from '../model.ts';
import { activeSegment } from '../stack/stack.ts';
import type { Dialogue } from './dialogue.ts';

/**
 * The key of a response's metadata that offers flows with buttons: how many of them, in the order of the
 * files, or which ones.
 */
const OFFER_FLOWS = 'offer_flows';

/** Names that `offered_flows` has before it says "more". */
const mostNamed = 4;
/** Flows that a template may list. */
const mostListed = 20;

const conjunction = new Intl.ListFormat('en-GB', { type: 'conjunction' });

/** User flows that may be started now; `known` are slots that are about to be set. */
export function startableFlows(dialogue: Dialogue, known?: JsonObject): readonly Flow[] {
  return [...dialogue.flows.values()].filter(
    (flow) =>
      !flow.isPattern && (flow.if === undefined || dialogue.holds(flow.if, undefined, known)),
  );
}

/** What the templates of a response see of the flows, where one of its variations offers them. */
export function offerValues(dialogue: Dialogue, response: string): JsonObject {
  const variations = dialogue.domain.responses.get(response) ?? [];
  const wanted = variations.find(({ metadata }) => metadata?.[OFFER_FLOWS] !== undefined);
  if (wanted === undefined) return {};
  const active = activeSegment(dialogue.tracker.stack);
  const flows = inOrder(startableFlows(dialogue), wanted.metadata?.[OFFER_FLOWS]);
  const names = flows.map(({ id }) => readableName(dialogue, id));
  const named = names.length > mostNamed + 1 ? [...names.slice(0, mostNamed), 'more'] : names;
  return {
    flows: flows
      .slice(0, mostListed)
      .map(({ description }, at) => ({ name: titleOf(names[at] ?? ''), description })),
    // In a flow the next question matters more than what else there is.
    offered_flows: active === undefined ? conjunction.format(named) : '',
    active_flow: active === undefined ? null : readableName(dialogue, active.root.flowId),
  };
}

/** The message with a button for each flow that it offers; none while a flow is active. */
export function withOffers(dialogue: Dialogue, message: BotMessage): BotMessage {
  const wanted = message.metadata?.[OFFER_FLOWS];
  const isBusy = activeSegment(dialogue.tracker.stack) !== undefined;
  if (wanted === undefined || message.buttons !== undefined || isBusy) return message;
  const count = Array.isArray(wanted) ? wanted.length : Number(wanted);
  const buttons = inOrder(startableFlows(dialogue), wanted)
    .slice(0, count)
    .map((flow) => {
      const name = readableName(dialogue, flow.id);
      // An example is what a user would say to start the flow.
      return { title: titleOf(name), payload: flow.examples[0] ?? name };
    });
  return buttons.length === 0 ? message : { ...message, buttons };
}

/** Those that a response names come first. */
function inOrder(flows: readonly Flow[], wanted: JsonValue | undefined): readonly Flow[] {
  if (!Array.isArray(wanted)) return flows;
  const named = wanted.flatMap((id) => flows.find((flow) => flow.id === id) ?? []);
  return [...new Set([...named, ...flows])];
}

function titleOf(name: string): string {
  return name.charAt(0).toLocaleUpperCase() + name.slice(1);
}

/** How a flow is named to the user, in the user's language where the flow has that. */
export function readableName(dialogue: Dialogue, flowId: string): string {
  const flow = dialogue.flows.get(flowId);
  if (flow === undefined) return flowId.replaceAll('_', ' ');
  return translatedName(flow, dialogue.tracker.slot('language')) ?? flow.name;
}

function translatedName(flow: Flow, language: unknown): string | undefined {
  if (typeof language !== 'string' || flow.translation === undefined) return undefined;
  return Object.hasOwn(flow.translation, language) ? flow.translation[language]?.name : undefined;
}
