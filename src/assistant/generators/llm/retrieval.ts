import { oncePer } from '../../once-per.ts';
import type { GeneratorInput } from '../../commands/generator.ts';
import { questionsOf } from '../../flows/flow-slots.ts';
import type { Domain, Flow } from '../../model.ts';
import { FlowIndex, flowIndexOf } from '../flow-index.ts';
import { readMessage } from '../words/words.ts';
import type { LlmGeneratorOptions } from './llm-generator.ts';

/** Index of flows by their words and those of the slots they collect; built once per project. */
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
 * The flows that the model can choose from, in the order of the project. Up to `numFlows`: all that can
 * start. Beyond that: the best matches, those that are always included, and those on the stack.
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
  // If no word of the message is known, fill up with the first flows.
  for (const flow of input.flows) take(flow);
  return input.flows.filter((flow) => chosen.has(flow));
}
