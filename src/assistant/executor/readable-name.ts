import type { Flow } from '../model.ts';
import type { Dialogue } from './dialogue.ts';

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
