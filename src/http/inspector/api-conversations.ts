import { type ApiCall, nothing, reply } from './api-call.ts';
import { flowView } from './flow-view.ts';
import type { Inspection, Route } from './inspection.ts';
import type { ConversationView } from './model.ts';
import type { InspectedAgent } from './options.ts';

/** What an assistant is made of, and what it said and thought. */
export const conversationRoutes: readonly (readonly [string, Route])[] = [
  ['GET assistants/{}/flows', showFlows],
  ['GET assistants/{}/conversations/{}', showConversation],
];

function assistantOf(
  { agents }: Inspection,
  { params }: ApiCall,
): NonNullable<InspectedAgent['assistant']> {
  const [name = ''] = params;
  const found = agents.find((agent) => agent.name === name)?.assistant;
  if (found === undefined) throw nothing(`assistant ${name} here`);
  return found;
}

async function showFlows(inspection: Inspection, call: ApiCall): Promise<void> {
  const { project } = assistantOf(inspection, call).models.require();
  reply(call.response, Array.from(project.flows.values(), flowView));
}

async function showConversation(inspection: Inspection, call: ApiCall): Promise<void> {
  const { conversations } = assistantOf(inspection, call);
  const id = call.params[1] ?? '';
  const subject = call.query.get('subject');
  const owned = subject === null ? conversations : conversations.of(subject);
  const view: ConversationView = { id, tracker: await owned.tracker(id) };
  reply(call.response, view);
}
