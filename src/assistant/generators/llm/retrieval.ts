import MiniSearch from 'minisearch';
import type { GeneratorInput } from '../../commands/generator.ts';
import type { Flow } from '../../model.ts';
import { questionsOf } from '../flow-questions.ts';
import { readMessage } from '../words/words.ts';
import type { LlmGeneratorOptions } from './llm-generator.ts';

interface Document {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly slots: string;
}

type FlowSearch = MiniSearch<Document>;

const withSlots = new WeakMap<ReadonlyMap<string, Flow>, FlowSearch>();
const withoutSlots = new WeakMap<ReadonlyMap<string, Flow>, FlowSearch>();

/**
 * The flows that the model may choose from. With few flows all that may start; with many the best
 * by BM25, those that are always shown, and those of the conversation, in the order of the project.
 */
export function chooseFlows(
  input: GeneratorInput,
  options: NonNullable<LlmGeneratorOptions['flowRetrieval']>,
): readonly Flow[] {
  const { isActive = true, numFlows = 20, turnsToEmbed = 1, shouldEmbedSlots = true } = options;
  if (!isActive || input.flows.length <= numFlows) return input.flows;

  const onStack = new Set(input.stack.map((frame) => frame.flowId));
  const chosen = new Set(
    input.flows.filter((flow) => flow.alwaysIncludeInPrompt || onStack.has(flow.id)),
  );
  const startable = new Map(input.flows.map((flow) => [flow.id, flow]));
  const spoken = input.transcript.filter((entry) => entry.speaker === 'user');
  const recent = turnsToEmbed > 1 ? spoken.slice(1 - turnsToEmbed) : [];
  const query = [...recent.map((entry) => entry.text), input.text].join(' ');
  let room = numFlows;
  const take = (flow: Flow | undefined): void => {
    if (flow === undefined || chosen.has(flow) || room === 0) return;
    chosen.add(flow);
    room -= 1;
  };
  const results = searchOf(input, shouldEmbedSlots).search(terms(query), {
    boost: { name: 2 },
    fuzzy: (term) => (term.length > 4 ? 1 : false),
  });
  for (const result of results) take(startable.get(result.id as string));
  // A message without a known word says nothing about the flows: the first ones are as good as any.
  for (const flow of input.flows) take(flow);
  return input.flows.filter((flow) => chosen.has(flow));
}

function searchOf(input: GeneratorInput, embedsSlots: boolean): FlowSearch {
  const kept = embedsSlots ? withSlots : withoutSlots;
  let search = kept.get(input.allFlows);
  if (search === undefined) kept.set(input.allFlows, (search = makeSearch(input, embedsSlots)));
  return search;
}

function makeSearch({ allFlows, domain }: GeneratorInput, embedsSlots: boolean): FlowSearch {
  const search: FlowSearch = new MiniSearch({
    fields: ['name', 'description', 'slots'],
    tokenize: (text) => text.split(' '),
    processTerm: (term) => term,
  });
  for (const flow of allFlows.values()) {
    if (flow.isPattern) continue;
    const slots = embedsSlots
      ? questionsOf(flow, allFlows, domain).map(
          ({ slot, step }) => `${slot.name} ${step.description ?? ''}`,
        )
      : [];
    search.add({
      id: flow.id,
      name: terms(`${flow.id} ${flow.name}`),
      description: terms([flow.description, ...flow.examples].join(' ')),
      slots: terms(slots.join(' ')),
    });
  }
  return search;
}

/** The stems of a text, without the words that say nothing. */
function terms(text: string): string {
  return readMessage(text.replaceAll(/[_-]+/g, ' '))
    .tokens.filter((token) => token.isContent)
    .map((token) => token.stem)
    .join(' ');
}
