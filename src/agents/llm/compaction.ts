import type { LanguageModelV4 } from '@ai-sdk/provider';
import { z } from 'zod';
import { generateText } from '../../models/index.ts';
import {
  errorMessage,
  isJsonObject,
  type JsonObject,
  type OptionNames,
} from '../../protocol/index.ts';
import { StoredFormat } from '../../store/index.ts';
import type { Turn } from '../agent.ts';
import { excerpt } from '../steps/excerpt.ts';
import type { Steps } from '../steps/step-log.ts';
import { cutResult, type Entry, readTurn, type ReadTurn } from '../tool-loop/conversation.ts';
import { noUsage, type Usage } from '../usage.ts';
import { type ModelLoader, modelLoader, type ModelSource } from './model-source.ts';

/**
 * How long conversations are shortened.
 * @example const compaction: CompactionOptions = { strategy: 'summarise', model: 'openai/gpt-5-mini' };
 */
export interface CompactionOptions {
  /** `cut`: omits older turns. `summarise`: a model summarises them. @default 'summarise' */
  readonly strategy?: 'cut' | 'summarise';
  /** The model that summarises. @default the agent's */
  readonly model?: ModelSource;
  /**
   * The instruction for the summary.
   * @default an instruction to keep names, numbers, decisions and open questions
   */
  readonly instruction?: string;
}

export const compactionNames: OptionNames<CompactionOptions> = {
  strategy: ['cut', 'summarise'],
  model: true,
  instruction: 'string',
};

const defaultInstruction =
  'Summarise this conversation for yourself, so that you can go on with it without having read it. ' +
  'Keep names, numbers, dates, decisions, results of tools and open questions. Write at most 300 words, ' +
  'in the language of the conversation, and nothing else.';

export interface Compaction {
  readonly strategy: 'cut' | 'summarise';
  readonly model: ModelLoader | undefined;
  readonly instruction: string;
}

export function resolveCompaction(
  owner: string,
  given: 'cut' | 'summarise' | CompactionOptions,
): Compaction {
  const options: CompactionOptions = typeof given === 'string' ? { strategy: given } : given;
  const { strategy = 'summarise', model, instruction = defaultInstruction } = options;
  return {
    strategy,
    model: model === undefined ? undefined : modelLoader(`compaction of ${owner}`, model),
    instruction,
  };
}

/**
 * An entry of the context's log: the summary of everything before the last `keeps` entries. It is empty
 * if these were left out without a summary.
 */
const summaryFormat = new StoredFormat({
  name: 'summary of conversation',
  schema: z.object({ agent: z.string(), summary: z.string(), keeps: z.number() }),
});

const cutMark = '[Earlier messages of this conversation were left out.]';
const maxSummary = 8_000;
/** Maximum characters of a tool result in the text to summarise. */
const maxResult = 1_000;

export interface HistoryOptions {
  readonly turn: Turn;
  readonly agent: string;
  /** Maximum number of turns, and of their characters. */
  readonly turns: number;
  readonly characters: number;
  readonly compaction: Compaction;
  /** The model of the agent. */
  readonly model: LanguageModelV4;
  readonly steps: Steps | undefined;
  readonly signal: AbortSignal;
}

/**
 * The earlier turns of a conversation, as one agent shows them to its model, within bounds:
 *
 * - **within**: all kept turns, after the summary of the turns before them, if there is one.
 * - **compacted**: older turns were left out or summarised, because they exceeded the bounds or the
 *   model's context. The summary is journaled and belongs in the log of the turn. So does the position
 *   from which the model could read the history, so that the next turn does not try a longer one.
 */
export class History {
  readonly #options: HistoryOptions;
  #turns: readonly ReadTurn[];
  #summary: string | undefined;
  /** Turns were left out without a summary. */
  #isCut = false;
  #compactions = 0;
  /** The token usage of summaries. */
  usage: Usage = noUsage;
  /** Entries for the log of the conversation: where the history starts from this turn on. */
  readonly log: JsonObject[] = [];

  private constructor(options: HistoryOptions, loaded: Loaded) {
    this.#options = options;
    this.#turns = loaded.turns;
    this.#summary = loaded.summary === '' ? undefined : loaded.summary;
    this.#isCut = loaded.summary === '';
  }

  static async load(options: HistoryOptions): Promise<History> {
    const { turns, compaction, characters } = options;
    if (turns === 0) return new History(options, { turns: [], summary: undefined });
    // A summary is at most this many entries back: the next one is made before there are more.
    const history = new History(options, await load(options, turns * 2 + 1));
    const isLong = history.#turns.length > turns || history.#size > characters;
    if (isLong && compaction.strategy === 'summarise') {
      await history.#compact(Math.floor(turns / 2), characters / 2);
    } else if (isLong) {
      history.#cut(turns, characters);
    }
    return history;
  }

  get entries(): readonly Entry[] {
    const before =
      this.#summary === undefined
        ? this.#isCut && cutMark
        : `[Summary of the conversation so far]\n${this.#summary}`;
    const entries = this.#turns.flatMap(({ entries: list }) => list);
    return typeof before === 'string'
      ? [{ role: 'user', parts: [{ text: before }] }, ...entries]
      : entries;
  }

  /**
   * Shortens the history after the model rejected it as too long. Returns false if nothing is left to
   * remove.
   */
  async shorten(): Promise<boolean> {
    const { length } = this.#turns;
    if (length === 0) {
      if (this.#summary === undefined) return false;
      this.#summary = undefined;
      this.#isCut = true;
      this.#note();
      return true;
    }
    const keeps = Math.floor(length / 2);
    if (this.#options.compaction.strategy === 'summarise' && this.#compactions === 0) {
      await this.#compact(keeps, Number.POSITIVE_INFINITY);
    } else {
      this.#cut(keeps, Number.POSITIVE_INFINITY);
      this.#note();
    }
    return true;
  }

  get #size(): number {
    return this.#turns.reduce((sum, { size }) => sum + size, 0);
  }

  /** Keeps the newest turns, up to `most` turns and `characters` characters; returns the others. */
  #cut(most: number, characters: number): readonly ReadTurn[] {
    let keeps = 0;
    let size = 0;
    for (const turn of this.#turns.toReversed()) {
      size += turn.size;
      if (keeps >= most || size > characters) break;
      keeps += 1;
    }
    const older = this.#turns.slice(0, this.#turns.length - keeps);
    this.#turns = this.#turns.slice(older.length);
    this.#isCut ||= older.length > 0;
    return older;
  }

  async #compact(most: number, characters: number): Promise<void> {
    const { turn, agent, compaction, model: own, steps, signal } = this.#options;
    const older = this.#cut(most, characters);
    if (older.length === 0) return;
    this.#compactions += 1;
    const key = `compaction ${this.#compactions}`;
    const journaled = await turn.journal?.read(key);
    const model = compaction.model === undefined ? own : await compaction.model();
    const step = steps?.start({ kind: 'compaction', name: model.modelId });
    if (typeof journaled === 'string') {
      step?.end({ detail: excerpt(journaled), isReplayed: true });
      return this.#summarised(journaled);
    }
    try {
      const { text, usage } = await generateText(model, {
        system: compaction.instruction,
        prompt: transcript(this.#summary, older),
        signal,
        logger: turn.logger,
        now: () => turn.clock.now(),
      });
      this.usage = { ...usage, calls: 1 };
      const summary = text.slice(0, maxSummary);
      await turn.journal?.write(key, summary);
      step?.end({ detail: excerpt(summary) });
      this.#summarised(summary);
    } catch (error) {
      signal.throwIfAborted();
      // The conversation continues without the older turns.
      turn.logger.warn({ agent, error }, 'agents.compaction.failed');
      step?.end({ state: 'failed', detail: excerpt(errorMessage(error)) });
    }
  }

  #summarised(summary: string): void {
    if (summary === '') return;
    this.#summary = summary;
    this.#isCut = false;
    this.#note();
  }

  #note(): void {
    const { agent } = this.#options;
    const keeps = this.#turns.length;
    const { value } = summaryFormat.encode({ agent, summary: this.#summary ?? '', keeps });
    if (isJsonObject(value)) this.log.splice(0, 1, value);
  }
}

interface Loaded {
  readonly turns: readonly ReadTurn[];
  /** Empty if the turns before were left out. */
  readonly summary: string | undefined;
}

async function load({ turn, agent }: HistoryOptions, last: number): Promise<Loaded> {
  const logged = await turn.state.log({ last });
  const turns: ReadTurn[] = [];
  let summary: string | undefined;
  for (const each of logged) {
    if (typeof each['summary'] !== 'string') {
      const read = readTurn(each, agent, turn.contextId);
      if (read !== undefined) turns.push(read);
    } else if (each['agent'] === agent) {
      const stored = summaryFormat.decode(each, turn.contextId);
      turns.splice(0, Math.max(0, turns.length - stored.keeps));
      ({ summary } = stored);
    }
  }
  return { turns, summary };
}

/** Renders turns as the text to summarise. */
function transcript(summary: string | undefined, turns: readonly ReadTurn[]): string {
  const lines = turns.flatMap(({ entries }) => entries.flatMap(linesOf));
  const before = summary === undefined ? [] : [`Summary of what came before: ${summary}`];
  return [...before, ...lines].join('\n');
}

function linesOf(entry: Entry): readonly string[] {
  switch (entry.role) {
    case 'user':
      return [
        `User: ${entry.parts.map(({ text, data }) => text ?? JSON.stringify(data)).join(' ')}`,
      ];
    case 'assistant':
      return [
        ...(entry.text === undefined ? [] : [`You: ${entry.text}`]),
        ...(entry.calls ?? []).map(
          ({ name, input }) => `You called ${name}(${JSON.stringify(input)})`,
        ),
      ];
    case 'tool':
      return entry.results.map((result) => {
        const { name, output } = cutResult(result, maxResult);
        return `${name} returned ${JSON.stringify(output.value)}`;
      });
  }
}
