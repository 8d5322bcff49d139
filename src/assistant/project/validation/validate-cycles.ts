import type { Flow, Step } from '../../model.ts';
import type { ValidationScope } from './scope.ts';
import { placeOf } from './validate-flows.ts';

/**
 * Finds ways that never end: flows that call each other, flows that link in a circle without ever
 * waiting for the user, and steps that lead back to themselves without a condition.
 */
export function validateCycles(scope: ValidationScope): void {
  const { flows, fields, problems } = scope;
  const own = [...flows.values()].filter(({ id }) => fields.has(id));
  const calls = new Map(own.map((flow) => [flow.id, calledBy(scope, flow)]));
  const links = new Map(own.map((flow) => [flow.id, linkedAtOnce(flow)]));
  for (const circle of circles(calls)) {
    report(scope, circle, 'call each other without end', 'leave out one of the calls');
  }
  for (const circle of circles(links)) {
    const hint = 'ask the user something before one of the links';
    report(scope, circle, 'link to each other without waiting for the user', hint);
  }
  for (const flow of own) {
    const stuck = findStuck(flow);
    if (stuck !== undefined) {
      const hint = 'lead out of it under a condition';
      problems.error(placeOf(flow, stuck), `step "${stuck}" leads back to itself without end`, {
        hint,
      });
    }
  }
}

function report(
  { flows, problems }: ValidationScope,
  circle: readonly string[],
  message: string,
  hint: string,
): void {
  const flow = flows.get(circle[0] ?? '');
  if (flow === undefined) return;
  const way = [...circle, flow.id].map((id) => `"${id}"`).join(' -> ');
  const place = { position: flow.position, path: `flows.${flow.id}` };
  problems.error(place, `flows ${message}: ${way}`, { hint });
}

function calledBy({ flows }: ValidationScope, flow: Flow): readonly string[] {
  return [...flow.steps.values()].flatMap((step) =>
    step.kind === 'call' && step.mcpServer === undefined && flows.has(step.target)
      ? [step.target]
      : [],
  );
}

/** Links that can be reached without a step that may wait. */
function linkedAtOnce(flow: Flow): readonly string[] {
  const targets: string[] = [];
  const seen = new Set<string>();
  const pending = [flow.first];
  for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
    const step = flow.steps.get(id);
    if (step === undefined || seen.has(id)) continue;
    seen.add(id);
    if (step.kind === 'link') targets.push(step.flow);
    else if (!mayWait(step)) pending.push(...step.next.branches.map(({ to }) => to));
  }
  return targets;
}

function mayWait(step: Step): boolean {
  return (
    step.kind === 'collect' ||
    step.kind === 'call' ||
    (step.kind === 'action' && step.action === 'action_listen')
  );
}

/** Circles of a graph, each beginning with the flow that comes first; every edge is walked once. */
function circles(edges: ReadonlyMap<string, readonly string[]>): readonly (readonly string[])[] {
  const found: (readonly string[])[] = [];
  const done = new Set<string>();
  const path: string[] = [];
  for (const start of edges.keys()) {
    const pending = [start];
    for (let id = pending.at(-1); id !== undefined; id = pending.at(-1)) {
      if (done.has(id) || path.at(-1) === id) {
        pending.pop();
        if (path.at(-1) === id) path.pop();
        done.add(id);
        continue;
      }
      path.push(id);
      for (const to of edges.get(id) ?? []) {
        const back = path.indexOf(to);
        if (back !== -1) found.push(path.slice(back));
        else if (!done.has(to)) pending.push(to);
      }
    }
  }
  return found;
}

/** A step from which one follows the other unconditionally, never waits, and comes back. */
function findStuck(flow: Flow): string | undefined {
  const harmless = new Set<string>();
  for (const start of flow.steps.values()) {
    const seen = new Set<string>();
    let step: Step | undefined = start;
    while (step !== undefined && !mayWait(step) && step.next.branches.length === 1) {
      if (seen.has(step.id)) return step.id;
      if (harmless.has(step.id)) break;
      seen.add(step.id);
      step = flow.steps.get(step.next.branches[0]?.to ?? '');
    }
    for (const id of seen) harmless.add(id);
  }
  return undefined;
}
