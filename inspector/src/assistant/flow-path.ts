import type { FlowView, StepView } from '../../../src/http/inspector/model.ts';
import type { JsonObject } from '../../../src/protocol/index.ts';
import { textIn } from '../ui/text.ts';
import { objectOf, stackIn } from './conversation-turns.ts';

export const START = 'START';
export const END = 'END';

/** The path of the latest run of a flow. */
export interface FlowPath {
  /** Ids of the steps taken. */
  readonly steps: ReadonlySet<string>;
  /** `from>to` of the edges between them. */
  readonly edges: ReadonlySet<string>;
  /** The current step; undefined when the flow has ended. */
  readonly active: string | undefined;
  readonly end: 'completed' | 'cancelled' | undefined;
}

const nowhere: FlowPath = {
  steps: new Set(),
  edges: new Set(),
  active: undefined,
  end: undefined,
};

/** A step at which the flow was observed, and the events since the previous observation. */
interface Observation {
  readonly step: string;
  readonly evidence: ReadonlySet<string>;
}

/**
 * Infers the path that a flow took. The tracker records the step after each turn and the actions in
 * between, not every step. Of all paths between two observations, takes the one that explains the most
 * actions.
 */
export function flowPath(flow: FlowView, events: readonly JsonObject[]): FlowPath {
  const run = latestRun(flow.id, events);
  if (run === undefined) return nowhere;
  const steps = new Set<string>();
  const edges = new Set<string>();
  let from = START;
  for (const { step, evidence } of run.observations) {
    const path = bestPath(flow, from, step, evidence);
    for (const [index, id] of path.entries()) {
      steps.add(id);
      const before = path[index - 1];
      if (before !== undefined) edges.add(`${before}>${id}`);
    }
    from = step;
  }
  return { steps, edges, active: run.end === undefined ? from : undefined, end: run.end };
}

function latestRun(
  flowId: string,
  events: readonly JsonObject[],
): { observations: readonly Observation[]; end: FlowPath['end'] } | undefined {
  let observations: Observation[] = [];
  let evidence = new Set<string>();
  let isOn = false;
  let end: FlowPath['end'];
  const start = (): void => {
    observations = [];
    evidence = new Set();
    isOn = true;
    end = undefined;
  };
  const see = (step: string): void => {
    observations.push({ step, evidence });
    evidence = new Set();
  };
  for (const event of events) {
    const isOwn = event['flow_id'] === flowId;
    switch (event['event']) {
      case 'flow_started':
        if (isOwn) start();
        break;
      case 'flow_completed':
      case 'flow_cancelled':
        if (!isOwn || !isOn) break;
        if (event['event'] === 'flow_completed') see(END);
        end = event['event'] === 'flow_completed' ? 'completed' : 'cancelled';
        isOn = false;
        break;
      case 'stack': {
        const frame = stackIn(event)?.findLast((one) => one.flowId === flowId);
        // A flow that another flow called starts without an event.
        if (frame !== undefined && !isOn && end === undefined) start();
        if (frame !== undefined && isOn) see(frame.stepId);
        if (frame === undefined && isOn && observations.length > 0) {
          see(END);
          end = 'completed';
          isOn = false;
        }
        break;
      }
      default:
        for (const mark of marksOf(event)) evidence.add(mark);
    }
  }
  return observations.length === 0 && !isOn ? undefined : { observations, end };
}

function marksOf({ event, name, metadata }: JsonObject): readonly string[] {
  if (event === 'action') return [`action ${textIn(name)}`];
  if (event === 'slot') return [`slot ${textIn(name)}`];
  const utter = event === 'bot' ? textIn(objectOf(metadata)['utter_action']) : '';
  return utter === '' ? [] : [`action ${utter}`];
}

/** Limit of paths examined between two observations; real flows have far fewer. */
const maxPaths = 2_000;

/** The best path, including both ends; empty if there is no path. */
function bestPath(
  flow: FlowView,
  from: string,
  to: string,
  evidence: ReadonlySet<string>,
): readonly string[] {
  if (from === to) return [to];
  const steps = new Map(flow.steps.map((step) => [step.id, step]));
  let best: readonly string[] = [];
  let bestScore = -Infinity;
  let examined = 0;
  const walk = (path: readonly string[], score: number): void => {
    examined += 1;
    const at = path.at(-1) ?? from;
    if (at === to && path.length > 1) {
      if (score > bestScore) [best, bestScore] = [path, score];
      return;
    }
    if (examined > maxPaths) return;
    for (const next of nextOf(at, flow, steps)) {
      if (path.includes(next) && next !== to) continue;
      const step = steps.get(next);
      walk([...path, next], score + (step === undefined ? 0 : fit(step, evidence)) - 0.01);
    }
  };
  walk([from], 0);
  return best;
}

function nextOf(
  at: string,
  flow: FlowView,
  steps: ReadonlyMap<string, StepView>,
): readonly string[] {
  if (at === START) return [flow.first];
  return steps.get(at)?.next.map(({ to }) => to) ?? [];
}

/** How well a step explains the actions: negative for a step whose action is missing from the log. */
function fit({ kind, target, title }: StepView, evidence: ReadonlySet<string>): number {
  if (kind === 'action') {
    if (target === 'action_listen' || target?.includes('{{') === true) return 0;
    return evidence.has(`action ${target ?? ''}`) ? 2 : -2;
  }
  if (kind === 'set_slots') {
    const slots = [...title.matchAll(/(?:^|, )([^\s=]+) = /g)].map(([, slot]) => slot ?? '');
    return slots.some((slot) => evidence.has(`slot ${slot}`)) ? 1 : -1;
  }
  if (kind === 'collect') return evidence.has(`slot ${target ?? ''}`) ? 0.5 : 0;
  return 0;
}
