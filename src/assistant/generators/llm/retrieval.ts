import { oncePer } from '../../once-per.ts';
import type { GeneratorInput } from '../../commands/generator.ts';
import { questionsOf } from '../../flows/flow-slots.ts';
import type { Domain, Flow } from '../../model.ts';
import { FlowIndex, flowIndexOf } from '../flow-index.ts';
import { readMessage } from '../words/words.ts';
import type { LlmGeneratorOptions } from './llm-generator.ts';

/** Flows by their words and those of the slots they ask for; made once for a project's flows. */
const indexWithSlots = oncePer((flows: ReadonlyMap<string, Flow>) =>
  oncePer(
    (domain: Domain) =>
      new FlowIndex(flows.values(), {
        synonyms: domain.synonyms ?? [],
        phrasesOf: (flow) =>
          questionsOf(flow, flows, domain).map(
            ({ slot, step }) => `${slot.name.replaceAll(/[_-]+/g, ' ')} ${step.description ?? ''}`,
          ),
      }),
  ),
);

/**
 * The flows that the model may choose from. With few flows all that may start; with many the best
 * by their words, those that are always shown, and those of the conversation, in the order of the project.
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
  const { allFlows, domain } = input;
  const index = shouldEmbedSlots ? indexWithSlots(allFlows)(domain) : flowIndexOf(allFlows, domain);
  for (const { flow } of index.rank(readMessage(query), [], { limit: Infinity }))
    take(startable.get(flow.id));
  // A message without a known word says nothing about the flows: the first ones are as good as any.
  for (const flow of input.flows) take(flow);
  return input.flows.filter((flow) => chosen.has(flow));
}
