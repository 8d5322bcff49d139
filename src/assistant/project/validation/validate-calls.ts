import { suggest } from '../../../config/index.ts';
import type { Use } from '../../domain/index.ts';
import { usesOf, type ValidationScope } from './scope.ts';
import { unknown } from './validate-names.ts';

type LinkUse = Extract<Use, { kind: 'link' }>;
type CallUse = Extract<Use, { kind: 'call' }>;

/** Calls and links must lead somewhere, and only where they may. */
export function validateCalls(scope: ValidationScope): void {
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
  if (agents.has(name)) return;
  const target = flows.get(name);
  if (target === undefined) {
    unknown(scope, field, 'flow or sub agent', name, [...userFlows(scope), ...agents.keys()]);
  } else if (target.isPattern) field.error('a pattern cannot be called', 'link to it');
  else if (hasExit) field.error('"exit_if" belongs to the call of a sub agent, and this is a flow');
}

/** Patterns that flows and other patterns may link to. */
const linkedByFlows = ['pattern_human_handoff', 'pattern_search'];
const linkedByPatterns = ['pattern_human_handoff', 'pattern_chitchat'];

function validateLink(scope: ValidationScope, { field, name, flow = '' }: LinkUse): void {
  const { flows, agents } = scope;
  const source = flows.get(flow);
  const target = flows.get(name);
  if (target === undefined) {
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
