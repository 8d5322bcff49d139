import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import type { Dialogue } from '../executor/index.ts';
import type { Command } from '../model.ts';
import { cleanUp } from './clean-up.ts';
import type { CommandGenerator } from './generator.ts';
import { orchestratorCommands } from './orchestrator.ts';
import { understand, type Understanding } from './understand.ts';
import { activeCollect, agentsView, startableFlows } from './view.ts';

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
  const startable = startableFlows(dialogue);
  // An orchestrator may send data and no words at all.
  const isOnlyData = text.trim() === '' && Object.keys(slots).length > 0;
  const understood = isOnlyData
    ? { commands: [], isPayload: true }
    : await understand(dialogue, { text, metadata }, { generator, maxCharacters, startable });
  const collect = activeCollect(dialogue, tracker.stack);
  const situation = {
    stack: tracker.stack,
    slots: tracker.slots,
    filledBy: (name: string) => tracker.filledBy(name),
    domain,
    flows,
    startable: new Set(startable.map((flow) => flow.id)),
    collect,
    agents: agentsView(tracker.stack),
  };
  const { isPayload } = understood;
  const clean = cleanUp(understood.commands, situation, { isPayload, clarifyOnMultipleStartFlows });
  const seeds = orchestratorCommands(dialogue, slots, understood.commands);
  return { ...understood, commands: withSeeds(seeds, clean, collect?.slot.name) };
}

/** An orchestrator that answers the question has said enough, whatever the words were. */
function withSeeds(
  seeds: readonly Command[],
  commands: readonly Command[],
  asked: string | undefined,
): readonly Command[] {
  const isAnswered = seeds.some((one) => one.command === 'set slot' && one.name === asked);
  const rest = isAnswered ? commands.filter((one) => one.command !== 'cannot handle') : commands;
  return [...seeds, ...rest];
}
