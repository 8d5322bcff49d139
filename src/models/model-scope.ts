import { AsyncLocalStorage } from 'node:async_hooks';
import type { LanguageModelV4 } from '@ai-sdk/provider';

/** Provides agents with models: `owner` names the agent, `load` loads the agent's own model. */
export type ModelScope = (
  owner: string,
  load: () => Promise<LanguageModelV4>,
) => Promise<LanguageModelV4>;

const scopes = new AsyncLocalStorage<ModelScope>();

/**
 * Runs work whose agents get their models from a scope, which can record, replay or replace them.
 * @example
 * const replaced = scriptedModel(['Hello!']);
 * await inModelScope(async () => replaced, () => new Runner({ agent }).run({ message: 'hi' }));
 */
export function inModelScope<T>(scope: ModelScope, work: () => Promise<T>): Promise<T> {
  return scopes.run(scope, work);
}

/**
 * The model of an agent, replaced by the surrounding scope if there is one.
 * @example const model = await modelInScope('agent "clerk"', loadModel);
 */
export function modelInScope(
  owner: string,
  load: () => Promise<LanguageModelV4>,
): Promise<LanguageModelV4> {
  return scopes.getStore()?.(owner, load) ?? load();
}
