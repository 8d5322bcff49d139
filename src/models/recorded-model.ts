import { readFile, rename, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider';
import { z } from 'zod';
import { checkOptions, invalidConfiguration, type LegateError } from '../protocol/index.ts';
import { lineDiff } from './line-diff.ts';
import { offersStructuredOutput } from './routed-model.ts';

/**
 * `record` calls the model and writes its answers, `replay` only reads, `auto` replays if the file
 * exists.
 * @example const mode: RecordingMode = process.env['RECORD'] === '1' ? 'record' : 'replay';
 */
export type RecordingMode = 'record' | 'replay' | 'auto';

/**
 * Options of a recorded model.
 * @example const options: RecordedModelOptions = { ignore: [/\d{4}-\d{2}-\d{2}/, /Order [A-Z]-\d+/] };
 */
export interface RecordedModelOptions {
  /**
   * Text that differs between runs, such as the date: replaced by `<...>` before it is compared and
   * stored.
   */
  readonly ignore?: readonly RegExp[];
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;
const entry = z.object({
  kind: z.enum(['generate', 'stream']),
  /** The request as lines of text. */
  request: z.array(z.string()).readonly(),
  result: z.custom<LanguageModelV4GenerateResult>(isObject).exactOptional(),
  parts: z.array(z.custom<LanguageModelV4StreamPart>(isObject)).exactOptional(),
});
type Entry = Readonly<z.infer<typeof entry>>;
const recording = z.object({ version: z.literal(1), entries: z.array(entry).readonly() });

/**
 * Records the answers of a model to a file, and replays them. Recording starts a new file and writes
 * each answer as it arrives. Replaying makes no request and finds answers by the whole request: the nth
 * equal request gets the nth answer, or the last one if there are fewer. A request that was never
 * recorded fails; the error shows how it differs from the nearest recorded one. Headers and raw bodies
 * are never written.
 * @example recordedModel(model, 'test/recordings/transfer.json', 'auto')
 */
export function recordedModel(
  inner: LanguageModelV4 | undefined,
  file: string,
  mode: RecordingMode,
  options: RecordedModelOptions = {},
): LanguageModelV4 {
  checkOptions('recordedModel', options, { ignore: 'list' });
  const records = mode === 'record' || (mode === 'auto' && !existsSync(file));
  const recorder = new Recorder(file, options.ignore ?? []);
  const source = (): LanguageModelV4 => {
    if (inner !== undefined) return inner;
    throw invalidConfiguration(`recording ${file} needs a model to ask`);
  };
  const model = {
    specificationVersion: 'v4' as const,
    provider: inner?.provider ?? 'recorded',
    modelId: inner?.modelId ?? 'recorded',
    supportedUrls: inner?.supportedUrls ?? {},
    supportsStructuredOutputs: inner !== undefined && offersStructuredOutput(inner),
    async doGenerate(call: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> {
      if (!records) {
        const { result } = await recorder.find('generate', call);
        if (result !== undefined) return result;
      }
      const answer = await source().doGenerate(call);
      const result = withoutTransport(answer);
      await recorder.add({ kind: 'generate', request: recorder.render(call), result });
      return result;
    },
    async doStream(call: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamResult> {
      if (!records) {
        const { parts } = await recorder.find('stream', call);
        return { stream: streamOf(parts ?? []) };
      }
      const { stream } = await source().doStream(call);
      const parts: LanguageModelV4StreamPart[] = [];
      const keep = new TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart>({
        transform(part, controller) {
          if (part.type !== 'raw' && part.type !== 'response-metadata') parts.push(part);
          controller.enqueue(part);
        },
        flush: () => recorder.add({ kind: 'stream', request: recorder.render(call), parts }),
      });
      return { stream: stream.pipeThrough(keep) };
    },
  };
  return model;
}

/** Drops the HTTP request and response: their headers can contain keys. */
function withoutTransport(answer: LanguageModelV4GenerateResult): LanguageModelV4GenerateResult {
  const { content, finishReason, usage, warnings, structuredOutputText } = answer;
  return {
    content,
    finishReason,
    usage,
    warnings,
    ...(structuredOutputText !== undefined && { structuredOutputText }),
  };
}

function streamOf(
  parts: readonly LanguageModelV4StreamPart[],
): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

/** The file, and how often each answer was replayed. Writes are sequential and atomic. */
class Recorder {
  readonly #file: string;
  readonly #ignore: readonly RegExp[];
  readonly #recorded: Entry[] = [];
  readonly #uses = new Map<string, number>();
  #writing: Promise<void> = Promise.resolve();
  #loading: Promise<readonly Entry[]> | undefined;

  constructor(file: string, ignore: readonly RegExp[]) {
    this.#file = file;
    this.#ignore = ignore;
  }

  async add(entry: Entry): Promise<void> {
    this.#recorded.push(entry);
    const text = `${JSON.stringify({ version: 1, entries: this.#recorded }, undefined, 2)}\n`;
    this.#writing = this.#writing.then(async () => {
      const temporary = `${this.#file}.new`;
      await writeFile(temporary, text);
      await rename(temporary, this.#file);
    });
    await this.#writing;
  }

  async find(kind: Entry['kind'], call: LanguageModelV4CallOptions): Promise<Entry> {
    this.#loading ??= this.#load();
    const entries = (await this.#loading).filter((entry) => entry.kind === kind);
    const request = this.render(call);
    const key = `${kind}\n${request.join('\n')}`;
    const equal = entries.filter((entry) => entry.request.join('\n') === request.join('\n'));
    const use = this.#uses.get(key) ?? 0;
    this.#uses.set(key, use + 1);
    const found = equal[Math.min(use, equal.length - 1)];
    if (found !== undefined) return found;
    throw this.#drift(entries, request);
  }

  #drift(entries: readonly Entry[], request: readonly string[]): LegateError {
    const lines = new Set(request);
    // A longer request shares more lines, so lines that it does not share count against it.
    const likeness = (entry: Entry): number =>
      entry.request.reduce((sum, line) => sum + (lines.has(line) ? 1 : -1), 0);
    const nearest = entries.toSorted((a, b) => likeness(b) - likeness(a))[0];
    const difference =
      nearest === undefined
        ? 'nothing was recorded'
        : lineDiff(nearest.request.join('\n'), request.join('\n'));
    return invalidConfiguration(
      `${this.#file}: this request was never recorded; record again if the change is meant.\n${difference}`,
    );
  }

  async #load(): Promise<readonly Entry[]> {
    let text: string;
    try {
      text = await readFile(this.#file, 'utf8');
    } catch (cause) {
      throw invalidConfiguration(`${this.#file}: no recording; make one with mode "record"`, cause);
    }
    const read = recording.safeParse(JSON.parse(text));
    if (read.success) return read.data.entries;
    throw invalidConfiguration(`${this.#file}: not a recording of version 1`);
  }

  /** The request as lines, without options that do not affect the answer. */
  render(call: LanguageModelV4CallOptions): string[] {
    // JSON omits undefined values.
    const settings = {
      ...call,
      abortSignal: undefined,
      headers: undefined,
      includeRawChunks: undefined,
      prompt: undefined,
    };
    const lines: string[] = [];
    for (const message of call.prompt) {
      lines.push(`[${message.role}]`);
      const parts = typeof message.content === 'string' ? [message.content] : message.content;
      for (const part of parts) {
        if (typeof part === 'string') lines.push(part);
        else lines.push(part.type === 'text' ? part.text : JSON.stringify(part, undefined, 2));
      }
    }
    lines.push('[settings]', JSON.stringify(settings, undefined, 2));
    const text = this.#ignore.reduce(
      (all, pattern) => all.replaceAll(new RegExp(pattern, 'g'), '<...>'),
      lines.join('\n'),
    );
    return text.split('\n');
  }
}
