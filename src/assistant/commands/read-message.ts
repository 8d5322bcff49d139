import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import { type Dialogue, startableFlows } from '../executor/index.ts';
import { cleanUp } from './clean-up.ts';
import type { CommandGenerator } from './generator.ts';
import { newSeeds, type Seed, seedsOf } from './orchestrator.ts';
import { understand, type Understanding } from './understand.ts';
import { activeCollect, agentsView } from './view.ts';

export interface ReadOptions {
  readonly generator: CommandGenerator;
  /** What a user may say at once. */
  readonly maxCharacters: number;
  /** Several flows at once, with none active, become a question. */
  readonly clarifyOnMultipleStartFlows: boolean;
}

export interface IncomingMessage {
  readonly text: string;
  readonly metadata: JsonObject;
  /** What an orchestrator knows already. */
  readonly slots: Readonly<Record<string, JsonValue>>;
}

/** From a message to commands that can be carried out: understood, cleaned up, and completed. */
export async function readMessage(
  dialogue: Dialogue,
  { text, metadata, slots }: IncomingMessage,
  { generator, maxCharacters, clarifyOnMultipleStartFlows }: ReadOptions,
): Promise<Understanding> {
  const { tracker, domain, flows } = dialogue;
  const known = seedsOf(dialogue, slots);
  // What the orchestrator knows is true before anything of the message is done.
  const startable = startableFlows(dialogue, valuesOf(known));
  // An orchestrator may send data and no words at all.
  const isOnlyData = text.trim() === '' && Object.keys(slots).length > 0;
  const understood = isOnlyData
    ? { commands: [], isPayload: true }
    : await understand(dialogue, { text, metadata }, { generator, maxCharacters, startable });
  const situation = {
    stack: tracker.stack,
    slots: tracker.slots,
    filledBy: (name: string) => tracker.filledBy(name),
    domain,
    flows,
    startable: new Set(startable.map((flow) => flow.id)),
    collect: activeCollect(dialogue, tracker.stack),
    agents: agentsView(tracker.stack),
  };
  const { isPayload } = understood;
  const seeds = newSeeds(dialogue, known, understood.commands);
  const commands = cleanUp([...seeds, ...understood.commands], situation, {
    isPayload,
    clarifyOnMultipleStartFlows,
  });
  return { ...understood, commands };
}

function valuesOf(seeds: readonly Seed[]): JsonObject | undefined {
  if (seeds.length === 0) return undefined;
  return Object.fromEntries(seeds.map(({ name, value }) => [name, value]));
}
