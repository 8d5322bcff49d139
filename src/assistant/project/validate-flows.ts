import { type Place, suggest } from '../../config/index.ts';
import type { ValidationScope } from '../domain/uses.ts';
import type { Flow, Step } from '../model.ts';

/** Checks each flow by itself and in relation to other flows, except for calls and links. */
export function validateFlows(scope: ValidationScope): void {
  const { flows, fields, agents } = scope;
  const own = [...flows.values()].filter(({ id }) => fields.has(id));
  if (scope.isComplete && [...fields.keys()].every((id) => id.startsWith('pattern_'))) {
    const place = { position: { file: 'data', line: 1, column: 1 }, path: '' };
    const message = 'there is no flow: the assistant has only its patterns to answer with';
    scope.problems.warn(place, message, { hint: 'write one into data/flows.yml' });
  }
  validateUnique(scope, own);
  for (const flow of own) {
    const field = fields.get(flow.id);
    const agent = agents.get(flow.id);
    if (agent !== undefined) {
      field?.keyError(`"${flow.id}" is also the name of a sub agent`, { hint: 'rename one' });
    }
    if (flow.isPattern) validatePatternId(scope, flow.id);
    validatePersisted(scope, flow);
    validateReachable(scope, flow);
  }
}

/** Checks that names and descriptions are unique: users and models distinguish flows by them. */
function validateUnique({ fields }: ValidationScope, flows: readonly Flow[]): void {
  for (const key of ['name', 'description'] as const) {
    const seen = new Map<string, string>();
    for (const flow of flows) {
      const text = flow[key].replace(/[^\p{L}\p{N}]+/gu, '').toLowerCase();
      if (flow.isPattern || text === '') continue;
      const first = seen.get(text);
      if (first === undefined) seen.set(text, flow.id);
      else {
        const field = fields.get(flow.id);
        const message = `has the same ${key} as flow "${first}"`;
        field?.keyError(message, { hint: 'say what makes it different' });
      }
    }
  }
}

/** Checks that a pattern replaces a default one. Without default patterns, any id is valid. */
function validatePatternId({ patterns, fields }: ValidationScope, id: string): void {
  if (patterns.size === 0 || patterns.has(id)) return;
  const hint = suggest(id, patterns, 'give it another name');
  fields.get(id)?.keyWarn(`there is no pattern "${id}" to replace`, { hint });
}

function validatePersisted(scope: ValidationScope, flow: Flow): void {
  if (flow.persistedSlots.length === 0) return;
  const steps = [...flow.steps.values()];
  const filled = filledBy(scope, flow);
  for (const use of scope.uses) {
    if (use.kind !== 'slot' || use.as !== 'persisted_slots' || use.flow !== flow.id) continue;
    if (filled.has(use.name) || !scope.domain.slots.has(use.name)) continue;
    const hint = 'what custom actions set persists anyway';
    use.field.error(`no step of this flow collects or sets "${use.name}"`, hint);
  }
  const step = steps.find((one) => one.kind === 'collect' && !one.resetAfterFlowEnds);
  if (step === undefined) return;
  scope.problems.error(
    placeOf(flow, step.id),
    '"reset_after_flow_ends" and "persisted_slots" exclude each other',
    { hint: 'keep persisted_slots' },
  );
}

/** Slots that a flow, or a flow that it calls, collects or sets. */
function filledBy(scope: ValidationScope, flow: Flow, seen = new Set<Flow>()): ReadonlySet<string> {
  if (seen.has(flow)) return new Set();
  seen.add(flow);
  return new Set(
    [...flow.steps.values()].flatMap((step) => {
      if (step.kind === 'collect') return [step.slot];
      if (step.kind === 'set_slots') return step.slots.map(({ slot }) => slot);
      const called = step.kind === 'call' ? scope.flows.get(step.target) : undefined;
      return called === undefined ? [] : [...filledBy(scope, called, seen)];
    }),
  );
}

function validateReachable(scope: ValidationScope, flow: Flow): void {
  const reached = new Set<string>();
  const pending = [flow.first];
  for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
    const step = flow.steps.get(id);
    if (step === undefined || reached.has(id)) continue;
    reached.add(id);
    pending.push(...step.next.branches.map(({ to }) => to));
  }
  for (const id of flow.steps.keys()) {
    if (reached.has(id)) continue;
    const message = `step "${id}" is never reached`;
    scope.problems.warn(placeOf(flow, id), message, { hint: 'lead to it by next, or remove it' });
  }
}

function placeOf(flow: Flow, stepId: string): Place {
  const position = flow.steps.get(stepId)?.position ?? flow.position;
  return { position, path: `flows.${flow.id}` };
}

/**
 * Finds infinite loops: flows that call each other, flows that link in a cycle without waiting for the user,
 * and steps that lead back to themselves unconditionally.
 */
export function validateCycles(scope: ValidationScope): void {
  const { flows, fields, problems } = scope;
  const own = [...flows.values()].filter(({ id }) => fields.has(id));
  const calls = new Map(own.map((flow) => [flow.id, calledBy(scope, flow)]));
  const links = new Map(own.map((flow) => [flow.id, linkedAtOnce(flow)]));
  for (const circle of circles(calls)) {
    report(scope, circle, 'call each other recursively', 'leave out one of the calls');
  }
  for (const circle of circles(links)) {
    const hint = 'ask the user something before one of the links';
    report(scope, circle, 'link to each other without waiting for the user', hint);
  }
  for (const flow of own) {
    const stuck = findStuck(flow);
    if (stuck !== undefined) {
      const hint = 'lead out of it under a condition';
      problems.error(placeOf(flow, stuck), `step "${stuck}" loops forever`, {
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

/** Links that a flow can reach without a step that can wait for the user. */
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

/** Cycles of a graph, by depth-first search. Each edge is followed once. */
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

/** The id of a step in a cycle of unconditional steps that never wait; undefined without one. */
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
