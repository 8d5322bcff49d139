import { useState } from 'preact/hooks';
import type { FlowView } from '../../../src/http/inspector/model.ts';
import { Badge } from '../ui/badge.tsx';
import { Empty } from '../ui/notice.tsx';
import { textIn } from '../ui/text.ts';
import type { ConversationTurn, Frame } from './conversation-turns.ts';
import { FlowDiagram } from './flow-diagram.tsx';
import { flowPath } from './flow-path.ts';

interface FlowTabProps {
  readonly flows: readonly FlowView[];
  readonly turns: readonly ConversationTurn[];
  readonly at: number;
}

/** The active flow as a diagram, and the stack below it. */
export function FlowTab({ flows, turns, at }: FlowTabProps) {
  const [chosen, setChosen] = useState<string | undefined>(undefined);
  const turn = turns[at];
  const stack = turn?.stack ?? [];
  const latest = latestFlow(flows, turns, at);
  const shown = chosen ?? latest?.id;
  const flow = flows.find(({ id }) => id === shown);
  const events = turns.slice(0, at + 1).flatMap((one) => one.events);
  return (
    <div class="flow-tab">
      <div class="flow-bar">
        <select
          class="input"
          aria-label="Flow"
          value={chosen ?? ''}
          onChange={({ currentTarget }) => setChosen(currentTarget.value || undefined)}
        >
          <option value="">{latest === undefined ? 'Active flow' : labelOf(latest, flows)}</option>
          <FlowOptions flows={flows} isPattern={false} />
          <FlowOptions flows={flows} isPattern />
        </select>
        {flow !== undefined && <p class="soft">{flow.description}</p>}
      </div>
      {flow === undefined ? (
        <Empty icon="network" title="No active flow">
          <p class="soft">Send a message that starts one, or select a flow to view.</p>
        </Empty>
      ) : (
        <FlowDiagram flow={flow} path={flowPath(flow, events)} />
      )}
      <StackList stack={stack} flows={flows} onChoose={setChosen} />
    </div>
  );
}

function FlowOptions(props: { readonly flows: readonly FlowView[]; readonly isPattern: boolean }) {
  const listed = props.flows.filter(({ isPattern }) => isPattern === props.isPattern);
  return (
    <optgroup label={props.isPattern ? 'Patterns' : 'Flows'}>
      {listed.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </optgroup>
  );
}

interface LatestFlow {
  readonly id: string;
  readonly isActive: boolean;
}

function labelOf({ id, isActive }: LatestFlow, flows: readonly FlowView[]): string {
  const name = flows.find((flow) => flow.id === id)?.name ?? id;
  return `${name} (${isActive ? 'active' : 'ended'})`;
}

/** The user flow nearest to the top of the stack; without one, the flow that started last. */
function latestFlow(
  flows: readonly FlowView[],
  turns: readonly ConversationTurn[],
  at: number,
): LatestFlow | undefined {
  const isUserFlow = (id: string): boolean =>
    flows.some((flow) => flow.id === id && !flow.isPattern);
  const frame = turns[at]?.stack.findLast(({ flowId }) => isUserFlow(flowId));
  if (frame !== undefined) return { id: frame.flowId, isActive: true };
  const started = turns
    .slice(0, at + 1)
    .flatMap(({ events }) => events)
    .findLast(({ event, flow_id: id }) => event === 'flow_started' && isUserFlow(textIn(id)));
  return started === undefined ? undefined : { id: textIn(started['flow_id']), isActive: false };
}

interface StackListProps {
  readonly stack: readonly Frame[];
  readonly flows: readonly FlowView[];
  readonly onChoose: (flowId: string) => void;
}

function StackList({ stack, flows, onChoose }: StackListProps) {
  const nameOf = (id: string): string => flows.find((flow) => flow.id === id)?.name ?? id;
  return (
    <section class="stack" aria-label="Stack">
      <h3>Stack</h3>
      {stack.length === 0 ? (
        <p class="faint">Empty: no flow is active.</p>
      ) : (
        <ol>
          {stack.toReversed().map((frame, index) => (
            <li key={frame.frameId || index}>
              <button type="button" class="stack-frame" onClick={() => onChoose(frame.flowId)}>
                <Badge tone={index === 0 ? 'accent' : 'neutral'}>
                  {frame.type === 'flow' || frame.type === 'agent' ? frame.type : 'pattern'}
                </Badge>
                <span>{frame.agentId ?? nameOf(frame.flowId)}</span>
                <code class="faint">{frame.stepId}</code>
                {frame.agentState !== undefined && (
                  <Badge tone="info">{frame.agentState.replaceAll('_', ' ')}</Badge>
                )}
              </button>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}
