import type { JsonObject } from '../../../src/protocol/index.ts';
import { durationOf, textIn } from '../ui/text.ts';
import { type ConversationTurn, objectOf } from './conversation-turns.ts';

/** A part of a turn that took time; times in milliseconds since 1970. */
interface Span {
  readonly kind: 'model' | 'action' | 'agent';
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** How long the steps of a turn took: understanding, actions and sub agents on one time axis. */
export function TurnTimeline({ turn }: { readonly turn: ConversationTurn }) {
  const spans = spansOf(turn);
  if (spans.length === 0) return null;
  const start = Math.min(...spans.map((span) => span.start));
  const length = Math.max(1, Math.max(...spans.map((span) => span.end)) - start);
  return (
    <section class="turn-timeline">
      <h3>
        Timeline <span class="faint">{durationOf(length)}</span>
      </h3>
      <ol>
        {spans.map((span, index) => (
          <li key={index} class="step-line">
            <span class="step-kind">{span.kind}</span>
            <span class="step-name">{span.name}</span>
            <span class="step-bar" aria-hidden="true">
              <span
                style={{
                  left: `${Math.min(99, ((span.start - start) / length) * 100)}%`,
                  width: `${((span.end - span.start) / length) * 100}%`,
                }}
              />
            </span>
            <span class="faint step-time">{durationOf(span.end - span.start)}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

/**
 * The log has the time of each event. The tracker logs a message after it was understood, an action after
 * it ran, and a sub agent when it starts and when it ends.
 */
function spansOf({ events }: ConversationTurn): readonly Span[] {
  const user = events.findIndex(({ event }) => event === 'user');
  const understood = timeOf(events[user]);
  if (user < 0 || understood === 0) return [];
  const spans: Span[] = [];
  const { prompts } = objectOf(events[user]?.['parse_data']);
  // Model calls are sequential; the last one ends when the message is logged.
  let end = understood;
  for (const prompt of Array.isArray(prompts) ? prompts.toReversed().map(objectOf) : []) {
    const start = end - Number(prompt['duration_ms'] ?? 0);
    spans.unshift({ kind: 'model', name: textIn(prompt['component']) || 'model', start, end });
    end = start;
  }
  const agents = new Map<string, number>();
  let before = understood;
  for (const event of events.slice(user + 1)) {
    const at = timeOf(event);
    const { event: kind, agent_id: agentId } = event;
    const agent = textIn(agentId);
    if (kind === 'agent_started' || kind === 'agent_resumed') agents.set(agent, at);
    else if (textIn(kind).startsWith('agent_')) {
      spans.push({ kind: 'agent', name: agent, start: agents.get(agent) ?? before, end: at });
      agents.delete(agent);
    } else if (kind === 'action' && event['name'] !== 'action_listen') {
      spans.push({ kind: 'action', name: textIn(event['name']), start: before, end: at });
    }
    before = Math.max(before, at);
  }
  for (const [name, start] of agents) spans.push({ kind: 'agent', name, start, end: before });
  return spans;
}

function timeOf(event: JsonObject | undefined): number {
  return Number(event?.['timestamp'] ?? 0) * 1_000;
}
