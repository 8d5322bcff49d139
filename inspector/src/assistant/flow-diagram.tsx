import { shortened } from '../../../src/protocol/index.ts';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { FlowView, StepView } from '../../../src/http/inspector/model.ts';
import { Button } from '../ui/button.tsx';
import type { PlacedNode } from '../ui/graph-layout.ts';
import { Box, Tip } from '../ui/shapes.tsx';
import { flowLayout, labelWidth, maximumLabel, type PlacedFlowEdge } from './flow-layout.ts';
import { END, type FlowPath, START } from './flow-path.ts';

interface FlowDiagramProps {
  readonly flow: FlowView;
  readonly path: FlowPath;
}

const kinds: Readonly<Record<StepView['kind'], string>> = {
  action: 'action',
  collect: 'ask',
  set_slots: 'set',
  noop: 'decide',
  link: 'link',
  call: 'call',
};

/** A flow as a diagram, with the path taken and the current step. */
export function FlowDiagram({ flow, path }: FlowDiagramProps) {
  const layout = useMemo(() => flowLayout(flow), [flow]);
  const [zoom, setZoom] = useState(1);
  const box = useRef<HTMLDivElement>(null);
  const steps = new Map(flow.steps.map((step) => [step.id, step]));
  useEffect(() => {
    const active = box.current?.querySelector('.node.active');
    active?.scrollIntoView({ block: 'center', inline: 'nearest' });
  }, [path.active, flow]);
  const zoomBy = (factor: number): void => setZoom(Math.min(2, Math.max(0.4, zoom * factor)));
  return (
    <div class="diagram">
      <div
        class="diagram-scroll"
        ref={box}
        tabIndex={0}
        role="region"
        aria-label={`Flow ${flow.name}`}
      >
        <svg
          viewBox={`0 0 ${layout.width} ${layout.height}`}
          style={{ width: fitted(layout.width, zoom) }}
          role="img"
          aria-label={describe(flow, path, steps)}
        >
          <defs>
            <Tip id="tip" size={7} kind="tip" />
            <Tip id="tip-taken" size={5} kind="tip taken" />
          </defs>
          {layout.edges.map((edge) => {
            const isTaken = path.edges.has(`${edge.from}>${edge.to}`);
            return (
              <path
                key={keyOf(edge)}
                class={isTaken ? 'edge taken' : 'edge'}
                d={edge.line}
                marker-end={isTaken ? 'url(#tip-taken)' : 'url(#tip)'}
              />
            );
          })}
          {layout.nodes.map((node) => (
            <StepBox key={node.id} node={node} step={steps.get(node.id)} path={path} />
          ))}
          {layout.edges.map((edge) => (
            <Condition
              key={keyOf(edge)}
              edge={edge}
              isTaken={path.edges.has(`${edge.from}>${edge.to}`)}
            />
          ))}
        </svg>
      </div>
      <div class="diagram-tools">
        <Button kind="quiet" label="Smaller" onClick={() => zoomBy(1 / 1.2)}>
          −
        </Button>
        <Button kind="quiet" label="Larger" onClick={() => zoomBy(1.2)}>
          +
        </Button>
      </div>
    </div>
  );
}

/** As wide as the available space, within limits. */
function fitted(width: number, zoom: number): string {
  const natural = (width / 16) * zoom;
  return `clamp(${natural * 0.72}rem, ${100 * zoom}%, ${natural}rem)`;
}

function keyOf({ from, to, text }: PlacedFlowEdge): string {
  return `${from} ${to} ${text}`;
}

function Condition(props: { readonly edge: PlacedFlowEdge; readonly isTaken: boolean }) {
  const { text, labelX: x, labelY: y } = props.edge;
  if (text === '') return null;
  return (
    <g class={props.isTaken ? 'edge-label taken' : 'edge-label'}>
      <title>{text}</title>
      <Box x={x} y={y} width={labelWidth(text)} height={20} radius={10} />
      <text x={x} y={y}>
        {shortened(text, maximumLabel)}
      </text>
    </g>
  );
}

interface StepBoxProps {
  readonly node: PlacedNode;
  readonly step: StepView | undefined;
  readonly path: FlowPath;
}

function StepBox({ node, step, path }: StepBoxProps) {
  const isActive = path.active === node.id;
  const isTaken = path.steps.has(node.id);
  const classes = ['node', step?.kind ?? 'end', isTaken && 'taken', isActive && 'active'];
  const { id, x, y, width, height } = node;
  const left = x - width / 2;
  const top = y - height / 2;
  const name = classes.filter(Boolean).join(' ');
  if (step === undefined) {
    return (
      <g class={name} data-step={id}>
        <Box {...{ x, y, width, height }} radius={height / 2} />
        <text class="node-end" x={x} y={y}>
          {id === START ? 'start' : id === END ? 'end' : id}
        </text>
      </g>
    );
  }
  return (
    <g class={name} data-step={id}>
      <title>{step.detail === undefined ? step.title : `${step.title}: ${step.detail}`}</title>
      <Box {...{ x, y, width, height }} radius={10} />
      <text class="node-kind" x={left + 14} y={top + 18}>
        {kinds[step.kind]}
      </text>
      <text class="node-title" x={left + 14} y={top + 37}>
        {shortened(titleOf(step), 26)}
      </text>
      {isActive && <circle class="node-lamp" cx={left + width - 16} cy={top + 16} r={5} />}
    </g>
  );
}

function titleOf({ kind, target, title }: StepView): string {
  return kind === 'set_slots' || kind === 'noop' ? title : (target ?? title);
}

/** For screen readers. */
function describe(flow: FlowView, path: FlowPath, steps: ReadonlyMap<string, StepView>): string {
  const active = path.active === undefined ? undefined : steps.get(path.active);
  const taken = [...path.steps].flatMap((id) => steps.get(id)?.title ?? []);
  const where = active === undefined ? (path.end ?? 'not started') : `at ${active.title}`;
  const way = taken.length === 0 ? '' : `; it took ${taken.join(', ')}`;
  return `Flow ${flow.name} with ${flow.steps.length} steps, ${where}${way}`;
}
