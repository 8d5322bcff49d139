import type { FlowView, StepView } from '../../../src/http/inspector/model.ts';
import type { JsonObject } from '../../../src/protocol/index.ts';
import { stackIn } from './conversation-turns.ts';
import { objectOf, textOf } from './tracker-json.ts';

export const START = 'START';
export const END = 'END';

/** The path of the latest run of a flow. */
export interface FlowPath {
  /** Ids of the steps taken. */
  readonly steps: ReadonlySet<string>;
  /** `from>to` of the edges between them. */
  readonly ways: ReadonlySet<string>;
  /** The current step; undefined when the flow has ended. */
  readonly active: string | undefined;
  readonly end: 'completed' | 'cancelled' | undefined;
}

const nowhere: FlowPath = {
  steps: new Set(),
  ways: new Set(),
  active: undefined,
  end: undefined,
};

/** A step at which the flow was observed, and the events since the previous observation. */
interface Sighting {
  readonly step: string;
  readonly evidence: ReadonlySet<string>;
}

/**
 * The path that a flow took. The tracker has the step after each turn and the actions in between, not
 * every step; of all paths between two observations, takes the one that explains most of the
 * actions.
 */
export function flowPath(flow: FlowView, events: readonly JsonObject[]): FlowPath {
  const run = latestRun(flow.id, events);
  if (run === undefined) return nowhere;
  const steps = new Set<string>();
  const ways = new Set<string>();
  let from = START;
  for (const { step, evidence } of run.sightings) {
    const way = bestWay(flow, from, step, evidence);
    for (const [index, id] of way.entries()) {
      steps.add(id);
      const before = way[index - 1];
      if (before !== undefined) ways.add(`${before}>${id}`);
    }
    from = step;
  }
  return { steps, ways, active: run.end === undefined ? from : undefined, end: run.end };
}

function latestRun(
  flowId: string,
  events: readonly JsonObject[],
): { sightings: readonly Sighting[]; end: FlowPath['end'] } | undefined {
  let sightings: Sighting[] = [];
  let evidence = new Set<string>();
  let isOn = false;
  let end: FlowPath['end'];
  const start = (): void => {
    sightings = [];
    evidence = new Set();
    isOn = true;
    end = undefined;
  };
  const see = (step: string): void => {
    sightings.push({ step, evidence });
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
        if (frame === undefined && isOn && sightings.length > 0) {
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
  return sightings.length === 0 && !isOn ? undefined : { sightings, end };
}

function marksOf({ event, name, metadata }: JsonObject): readonly string[] {
  if (event === 'action') return [`action ${textOf(name)}`];
  if (event === 'slot') return [`slot ${textOf(name)}`];
  const utter = event === 'bot' ? textOf(objectOf(metadata)['utter_action']) : '';
  return utter === '' ? [] : [`action ${utter}`];
}

/** Limit of paths examined between two observations; real flows have far fewer. */
const maxWays = 2_000;

/** Both ends included. Empty when there is no path. */
function bestWay(
  flow: FlowView,
  from: string,
  to: string,
  evidence: ReadonlySet<string>,
): readonly string[] {
  if (from === to) return [to];
  const steps = new Map(flow.steps.map((step) => [step.id, step]));
  let best: readonly string[] = [];
  let bestScore = -Infinity;
  let looked = 0;
  const walk = (way: readonly string[], score: number): void => {
    looked += 1;
    const at = way.at(-1) ?? from;
    if (at === to && way.length > 1) {
      if (score > bestScore) [best, bestScore] = [way, score];
      return;
    }
    if (looked > maxWays) return;
    for (const next of nextOf(at, flow, steps)) {
      if (way.includes(next) && next !== to) continue;
      const step = steps.get(next);
      walk([...way, next], score + (step === undefined ? 0 : fit(step, evidence)) - 0.01);
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

/** How well a step explains the actions: a step that must leave a trace and left none does not. */
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
