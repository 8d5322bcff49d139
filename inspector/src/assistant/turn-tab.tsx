import {
  type JsonObject,
  type JsonValue,
  shortened,
  textOfValue,
} from '../../../src/protocol/index.ts';
import { Badge } from '../ui/badge.tsx';
import { Copy } from '../ui/button.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { Empty } from '../ui/notice.tsx';
import { durationOf, textIn } from '../ui/text.ts';
import { Candidates } from './candidates.tsx';
import type { ConversationTurn, ModelCall } from './conversation-turns.ts';
import { TurnTimeline } from './turn-timeline.tsx';

/** How one message was understood, and all its effects. */
export function TurnTab({ turn }: { readonly turn: ConversationTurn | undefined }) {
  if (turn === undefined) {
    return (
      <Empty icon="tasks" title="No turns yet">
        <p class="soft">Send a message: how it was understood, and its effects, appear here.</p>
      </Empty>
    );
  }
  return (
    <div class="turn-tab">
      <section>
        <h3>Predicted commands</h3>
        {turn.commands.length === 0 ? (
          <p class="faint">{turn.number === 0 ? 'The session has started.' : 'None.'}</p>
        ) : (
          <ul class="commands">
            {turn.commands.map((command, index) => (
              <Command key={index} command={command} />
            ))}
          </ul>
        )}
      </section>
      <Candidates text={turn.text} candidates={turn.candidates} />
      {turn.number > 0 && (
        <section>
          <h3>Model calls</h3>
          {turn.modelCalls.length === 0 && <p class="faint">None: no language model was needed.</p>}
          {turn.modelCalls.map((call, index) => (
            <ModelCallView key={index} call={call} />
          ))}
        </section>
      )}
      {turn.number > 0 && <TurnTimeline turn={turn} />}
      <section>
        <h3>Events</h3>
        <ol class="tracker-events">
          {turn.events.map((event, index) => (
            <TrackerEvent key={index} event={event} />
          ))}
        </ol>
      </section>
    </div>
  );
}

function Command({ command }: { readonly command: JsonObject }) {
  const { command: name, ...rest } = command;
  const details = Object.entries(rest).map(([key, value]) => `${key}: ${shown(value)}`);
  return (
    <li>
      <Badge tone="accent">{textIn(name)}</Badge> <code>{details.join(', ')}</code>
    </li>
  );
}

function ModelCallView({ call }: { readonly call: ModelCall }) {
  const { inputTokens, outputTokens, milliseconds } = call;
  const facts = [
    call.model,
    inputTokens === undefined ? '' : `${inputTokens} tokens in`,
    outputTokens === undefined ? '' : `${outputTokens} tokens out`,
    milliseconds === undefined ? '' : durationOf(milliseconds),
  ].filter((fact) => fact !== '');
  return (
    <details class="model-call">
      <summary>
        <strong>{call.component || 'Prompt'}</strong> <span class="faint">{facts.join(' · ')}</span>
        {call.error !== '' && <Badge tone="bad">{call.error}</Badge>}
      </summary>
      <div class="prompt">
        <Copy text={call.prompt} label="Copy the prompt" />
        <pre tabIndex={0}>{call.prompt}</pre>
      </div>
      {call.answer !== '' && (
        <div class="prompt">
          <h4>Answer</h4>
          <pre tabIndex={0}>{call.answer}</pre>
        </div>
      )}
    </details>
  );
}

function TrackerEvent({ event }: { readonly event: JsonObject }) {
  const { event: kind, timestamp, metadata: _metadata, ...rest } = event;
  const time = new Date(Number(timestamp) * 1_000);
  return (
    <li>
      <details>
        <summary>
          <Badge>{textIn(kind).replaceAll('_', ' ')}</Badge>
          <span class="tracker-event-text">{summary(rest)}</span>
          <time class="faint" dateTime={time.toISOString()}>
            {time.toLocaleTimeString()}
          </time>
        </summary>
        <JsonView value={event} open={1} />
      </details>
    </li>
  );
}

function summary(event: JsonObject): string {
  const { text, name, value, flow_id: flow, step_id: step, agent_id: agent } = event;
  if (typeof text === 'string') return text;
  if (typeof name === 'string') return value === undefined ? name : `${name} = ${shown(value)}`;
  return [agent, flow, step].filter((part) => typeof part === 'string').join(' · ');
}

function shown(value: JsonValue): string {
  return shortened(textOfValue(value), 100);
}
