import { present } from '../../config/index.ts';
import { checkOptions, invalidConfiguration, ownerOf } from '../../protocol/index.ts';
import type { Agent, Turn, TurnEnd } from '../agent.ts';
import { checkAgent } from '../check-agent.ts';
import { childTurn } from '../child-turn.ts';
import { agent } from '../define.ts';
import type { OutputOf, Schema } from '../tools/schema.ts';
import { resolveTools } from '../tools/tool-set.ts';
import { conversationalAgents } from './hand-over.ts';
import {
  type LlmAgentOptions,
  llmOptionNames,
  type LlmSettings,
  resolveOptions,
} from './options.ts';
import { SavedState } from './saved-state.ts';

/**
 * Creates an agent with a language model: it answers, calls tools, asks its caller questions, and
 * transfers the conversation to sub agents. Its text streams into one artifact.
 * @example
 * const clerk = llmAgent({
 *   name: 'clerk',
 *   model: createModel({ id: 'local', models: [{ provider: 'ollama', model: 'qwen3' }] }),
 *   instruction: 'You help {user:name?} with transfers.',
 *   tools: [transfer],
 * });
 */
export function llmAgent<S extends Schema>(
  options: LlmAgentOptions & { readonly output: S },
): Agent<OutputOf<S>>;
export function llmAgent(options: LlmAgentOptions): Agent;
export function llmAgent(options: LlmAgentOptions): Agent {
  checkOptions(ownerOf('agent', options), options, llmOptionNames, ['name']);
  const settings = resolveOptions(options);
  checkNames(settings);
  const { name, description, skills, inputModes, outputModes } = options;
  const { serialise, onInterrupted = 'run-again', supersedes } = options;
  const card = { name, description, skills, inputModes, outputModes };
  const made: Agent = {
    ...agent(present({ ...card, serialise, onInterrupted, supersedes }), async function* (turn) {
      // The code of model calls is loaded with the first turn.
      const { LlmRun } = await import('./llm-run.ts');
      yield* new LlmRun(settings, turn).events();
    }),
    abandon: (turn) => abandon(settings, turn),
  };
  conversationalAgents.add(made);
  return made;
}

function checkNames({ name, subAgents }: LlmSettings): void {
  for (const each of subAgents) checkAgent(`subAgents of agent "${name}"`, each);
  const names = [name, ...subAgents.map((each) => each.name)];
  const twice = names.find((each, index) => names.indexOf(each) !== index);
  if (twice === undefined) return;
  throw invalidConfiguration(
    `agent "${name}": two agents are named "${twice}", so the model could not distinguish them`,
  );
}

/** Drops the open question, and calls `abandon` of the sub agent or tool that asked. */
async function abandon(
  settings: LlmSettings,
  turn: Turn,
): Promise<Omit<TurnEnd, 'kind'> | undefined> {
  const saved = new SavedState(await turn.state.load());
  const pause = saved.take(turn.taskId);
  if (pause === undefined) return undefined;
  const child = settings.subAgents.find(({ name }) => name === pause.delegate);
  if (child?.abandon !== undefined) {
    const value = saved.children.get(child.name);
    const end = await child.abandon(childTurn(turn, { name: `agent/${child.name}`, value }));
    if (end?.context?.value !== undefined) saved.children.set(child.name, end.context.value);
  }
  const asking = (pause.calls ?? []).flatMap(({ name, ask }) =>
    ask?.request === 'answer' ? [{ name, state: ask.state }] : [],
  );
  if (asking.length > 0) {
    const tools = await resolveTools(settings.tools, turn, turn.peers.tools);
    for (const { name, state } of asking) await tools.get(name)?.abandon?.(state, turn);
  }
  const value = saved.value();
  return value === undefined ? {} : { context: { value } };
}
