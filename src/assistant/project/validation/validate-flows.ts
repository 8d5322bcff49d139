import { type Place, suggest } from '../../../config/index.ts';
import type { Flow } from '../../model.ts';
import type { ValidationScope } from './scope.ts';

/** What is true of a flow by itself and among other flows, apart from calls and links. */
export function validateFlows(scope: ValidationScope): void {
  const { flows, fields, agents } = scope;
  const own = [...flows.values()].filter(({ id }) => fields.has(id));
  if (scope.isComplete && !own.some(({ isPattern }) => !isPattern)) {
    const place = { position: { file: 'data', line: 1, column: 1 }, path: '' };
    scope.problems.error(place, 'there is no flow', { hint: 'write one into data/flows.yml' });
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

/** Names and descriptions tell flows apart, for users and for models. */
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

/** Without default patterns nothing is known about which ones exist. */
function validatePatternId({ patterns, fields }: ValidationScope, id: string): void {
  if (patterns.size === 0 || patterns.has(id)) return;
  const hint = suggest(id, patterns, 'give it another name');
  fields.get(id)?.keyWarn(`there is no pattern "${id}" to replace`, { hint });
}

function validatePersisted(scope: ValidationScope, flow: Flow): void {
  if (flow.persistedSlots.length === 0) return;
  const steps = [...flow.steps.values()];
  const filled = new Set(
    steps.flatMap((step) => {
      if (step.kind === 'collect') return [step.slot];
      return step.kind === 'set_slots' ? step.slots.map(({ slot }) => slot) : [];
    }),
  );
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

export function placeOf(flow: Flow, stepId: string): Place {
  const position = flow.steps.get(stepId)?.position ?? flow.position;
  return { position, path: `flows.${flow.id}` };
}
