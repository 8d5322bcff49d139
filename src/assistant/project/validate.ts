import { type Field, suggest } from '../../config/index.ts';
import { type Use, usesOf, type ValidationScope } from '../domain/uses.ts';
import { defaultActionNames } from '../executor/run-action.ts';
import type { Slot } from '../model.ts';
import { validateConditions } from './validate-conditions.ts';
import { validateCycles, validateFlows } from './validate-flows.ts';

/** Checks that everything a project uses exists and is used correctly. Reports all problems. */
export function validate(scope: ValidationScope): void {
  validateNames(scope);
  validateConditions(scope);
  validateFlows(scope);
  validateCalls(scope);
  validateCycles(scope);
}

/** Checks that slots, responses, actions and MCP servers exist and fit their use. */
function validateNames(scope: ValidationScope): void {
  const { domain, isComplete, mcpServers } = scope;
  for (const use of usesOf(scope, 'slot')) {
    const { field, name } = use;
    const slot = domain.slots.get(name);
    if (name === 'dialogue_stack') field.error('slot "dialogue_stack" belongs to the engine');
    else if (slot === undefined) unknown(scope, field, 'slot', name, domain.slots.keys());
    else if (slot.type === 'list' && (use.as === 'collect' || use.as === 'set_slots')) {
      field.error(`a slot of type list cannot be used in ${use.as}`, 'set it from a custom action');
    }
    if (slot !== undefined && use.as === 'collect') {
      validateAsking(scope, field, name, use.utter);
      validateAnswering(scope, field, slot, use.utter);
    }
  }
  const questions = new Set(usesOf(scope, 'slot').map(({ utter }) => utter));
  for (const { field, name } of usesOf(scope, 'response')) {
    if (domain.responses.has(name)) continue;
    if (questions.has(name) && domain.actions.has(name)) {
      field.warn(`"${name}" is an action, which asks instead of a response`);
    } else {
      unknown(scope, field, 'response', name, domain.responses.keys());
    }
  }
  for (const { field, name } of usesOf(scope, 'action')) {
    if (domain.responses.has(name) || domain.actions.has(name) || defaultActionNames.has(name))
      continue;
    if (name.startsWith('utter_')) unknown(scope, field, 'response', name, domain.responses.keys());
    else if (domain.forms?.has(name) === true) {
      field.warn(`form "${name}" is left out: the step does nothing`, 'write a collect step');
    } else if (isComplete) {
      const near = suggest(name, [...domain.actions.keys(), ...defaultActionNames]);
      field.error(`no action named "${name}"`, near ?? 'add it to actions in the domain');
    }
  }
  for (const { field, name } of usesOf(scope, 'mcp_server')) {
    if (!mcpServers.has(name)) unknown(scope, field, 'MCP server', name, mcpServers);
  }
}

/** A collect step needs either a response or an action that asks; with an initial value, neither. */
function validateAsking(
  { domain, isComplete }: ValidationScope,
  field: Field,
  name: string,
  utter: string | undefined,
): void {
  const response = utter ?? `utter_ask_${name}`;
  const action = `action_ask_${name}`;
  const hasAction = domain.actions.has(action);
  const hasResponse = domain.responses.has(response);
  if (hasResponse && hasAction) {
    field.error(`both ${response} and ${action} would ask for "${name}"`, 'remove one of them');
  }
  const hasInitialValue = (domain.slots.get(name)?.initialValue ?? null) !== null;
  // An unknown response that the step names has its own error.
  if (hasResponse || hasAction || hasInitialValue || utter !== undefined || !isComplete) return;
  const near = suggest(response, domain.responses.keys());
  field.error(`nothing asks for "${name}"`, near ?? `add response ${response} or action ${action}`);
}

const classified = new Set(['from_entity', 'from_intent', 'from_trigger_intent']);

/** Legate has no intent classifier: typed answers can't fill a slot that only has such mappings. */
function validateAnswering(
  { domain }: ValidationScope,
  field: Field,
  slot: Slot,
  utter: string | undefined,
): void {
  if (!slot.mappings.every(({ type }) => classified.has(type))) return;
  const variations = domain.responses.get(utter ?? `utter_ask_${slot.name}`) ?? [];
  if (variations.some(({ buttons = [] }) => buttons.length > 0)) return;
  field.warn(
    `"${slot.name}" is filled by intents and entities only, so no typed answer fills it`,
    'add a mapping of type from_llm or from_text, or buttons to the question',
  );
}

function unknown(
  { isComplete }: ValidationScope,
  field: Field,
  what: string,
  name: string,
  candidates: Iterable<string>,
): void {
  if (isComplete) field.error(`no ${what} named "${name}"`, suggest(name, candidates));
}

type LinkUse = Extract<Use, { kind: 'link' }>;
type CallUse = Extract<Use, { kind: 'call' }>;

/** Checks that the targets of calls and links exist and are allowed. */
function validateCalls(scope: ValidationScope): void {
  const called = new Map<string, string>();
  for (const use of usesOf(scope, 'call')) {
    validateCall(scope, use);
    if (use.server === undefined) called.set(use.name, use.flow ?? '');
  }
  for (const use of usesOf(scope, 'link')) {
    validateLink(scope, use);
    const caller = called.get(use.flow ?? '');
    if (caller !== undefined) {
      const message = `a flow that is called may not link, and flow "${caller}" calls this one`;
      use.field.error(message, 'use call instead of link');
    }
  }
}

function validateCall(
  scope: ValidationScope,
  { field, name, server, flow, hasExit }: CallUse,
): void {
  const { flows, agents, mcpServers } = scope;
  if (flows.get(flow ?? '')?.isPattern === true) {
    field.error('a pattern may not call', 'link to a flow that does');
  }
  if (server !== undefined) {
    if (!mcpServers.has(server)) {
      const hint = suggest(server, mcpServers, 'add it to mcp_servers in endpoints.yml');
      field.error(`no MCP server named "${server}"`, hint);
    }
    return;
  }
  if (agents.has(name) || scope.peers.has(name)) return;
  const target = flows.get(name);
  if (target === undefined) {
    // A flow that was left out has its own error.
    if (scope.fields.has(name)) return;
    const known = [...userFlows(scope), ...agents.keys(), ...scope.peers];
    unknown(scope, field, 'flow, sub agent or peer', name, known);
  } else if (target.isPattern) field.error('a pattern cannot be called', 'link to it');
  else if (hasExit) field.error('"exit_if" belongs to the call of a sub agent, and this is a flow');
}

/** Patterns to which flows and other patterns may link. */
const linkedByFlows = ['pattern_human_handoff', 'pattern_search'];
const linkedByPatterns = ['pattern_human_handoff', 'pattern_chitchat'];

function validateLink(scope: ValidationScope, { field, name, flow = '' }: LinkUse): void {
  const { flows, agents } = scope;
  const source = flows.get(flow);
  const target = flows.get(name);
  if (target === undefined) {
    if (scope.fields.has(name)) return;
    if (agents.has(name)) field.error(`"${name}" is a sub agent`, `write call: ${name}`);
    else unknown(scope, field, 'flow', name, [...userFlows(scope), ...linkedByFlows]);
    return;
  }
  if (flow === 'pattern_internal_error') {
    field.error('pattern_internal_error may not link', 'an error must not lead into another');
  } else if (target.isPattern) {
    const allowed =
      source?.isPattern !== true
        ? linkedByFlows
        : flow === 'pattern_completed'
          ? [...linkedByPatterns, 'pattern_customer_satisfaction']
          : linkedByPatterns;
    if (!allowed.includes(name)) {
      field.error(`${flow} may not link to ${name}`, `it may link to ${allowed.join(', ')}`);
    }
  }
}

function userFlows({ flows }: ValidationScope): readonly string[] {
  return [...flows.values()].filter(({ isPattern }) => !isPattern).map(({ id }) => id);
}
