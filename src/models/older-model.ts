import type {
  LanguageModelV2,
  LanguageModelV2CallOptions,
  LanguageModelV2Content,
  LanguageModelV2File,
  LanguageModelV2FinishReason,
  LanguageModelV2StreamPart,
  LanguageModelV2ToolResultOutput,
  LanguageModelV2Usage,
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3Content,
  LanguageModelV3FinishReason,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4File,
  LanguageModelV4FilePart,
  LanguageModelV4GenerateResult,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';
import { invalidConfiguration } from '../protocol/index.ts';

/**
 * A model of any version of the AI SDK since 5: specification `v2`, `v3` or `v4`.
 * @example const nameOf = ({ provider, modelId }: AnyLanguageModel) => `${provider}/${modelId}`;
 */
export type AnyLanguageModel = LanguageModelV4 | LanguageModelV3 | LanguageModelV2;

/**
 * The model in the newest specification. Throws `CONFIGURATION_INVALID` for an unsupported version.
 * @example const model = toLanguageModel(openai('gpt-5'));
 */
export function toLanguageModel(model: AnyLanguageModel): LanguageModelV4 {
  if (model.specificationVersion === 'v4') return model;
  if (model.specificationVersion === 'v3' || model.specificationVersion === 'v2')
    return new OlderModel(model);
  const { specificationVersion } = model as { readonly specificationVersion?: unknown };
  throw invalidConfiguration(
    `the model has specification version ${JSON.stringify(specificationVersion)}; v2, v3 and v4 are supported: update the package of its provider`,
  );
}

/**
 * A model of specification v2 or v3. It differs from v4 in the files of prompts and the usage of
 * answers.
 */
class OlderModel implements LanguageModelV4 {
  readonly specificationVersion = 'v4';
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls: LanguageModelV4['supportedUrls'];
  readonly #model: LanguageModelV2 | LanguageModelV3;

  constructor(model: LanguageModelV2 | LanguageModelV3) {
    this.#model = model;
    this.provider = model.provider;
    this.modelId = model.modelId;
    this.supportedUrls = model.supportedUrls;
  }

  get supportsStructuredOutputs(): boolean {
    return (
      'supportsStructuredOutputs' in this.#model && this.#model.supportsStructuredOutputs === true
    );
  }

  async doGenerate(options: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> {
    const { content, finishReason, usage } = await this.#model.doGenerate(toOlderCall(options));
    return {
      content: content.flatMap(toContent),
      finishReason: toFinishReason(finishReason),
      usage: toUsage(usage),
      warnings: [],
    };
  }

  async doStream(options: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamResult> {
    const { stream } = await this.#model.doStream(toOlderCall(options));
    const parts: ReadableStream<LanguageModelV2StreamPart | LanguageModelV3StreamPart> = stream;
    const toNewer = new TransformStream<
      LanguageModelV2StreamPart | LanguageModelV3StreamPart,
      LanguageModelV4StreamPart
    >({
      transform(part, controller) {
        for (const each of toStreamPart(part)) controller.enqueue(each);
      },
    });
    return { stream: parts.pipeThrough(toNewer) };
  }
}

/** The options that both older versions support. */
function toOlderCall(
  options: LanguageModelV4CallOptions,
): LanguageModelV2CallOptions & LanguageModelV3CallOptions {
  const { reasoning: _, prompt, tools, ...rest } = options;
  const call = {
    ...rest,
    prompt: prompt.map(toMessage),
    ...(tools !== undefined && {
      tools: tools.flatMap((each) => {
        if (each.type !== 'function') return [];
        const { type, name, description, inputSchema } = each;
        return [{ type, name, inputSchema, ...(description !== undefined && { description }) }];
      }),
    }),
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- v4 allows undefined members in provider options
  return call as LanguageModelV2CallOptions & LanguageModelV3CallOptions;
}

function toMessage(message: LanguageModelV4Message) {
  switch (message.role) {
    case 'system':
      return message;
    case 'user':
      return { ...message, content: message.content.map(toPart) };
    case 'assistant':
    case 'tool':
      return { ...message, content: message.content.filter(isOlder).map(toPart) };
  }
}

type V4Part = Exclude<LanguageModelV4Message['content'], string>[number];

function isOlder({ type }: V4Part): boolean {
  return !['custom', 'reasoning-file', 'tool-approval-response'].includes(type);
}

function toPart(part: V4Part) {
  if (part.type === 'file') return toFile(part);
  return part.type === 'tool-result' ? { ...part, output: toOutput(part.output) } : part;
}

function toFile({ data, ...part }: LanguageModelV4FilePart) {
  switch (data.type) {
    case 'data':
      return { ...part, data: data.data };
    case 'url':
      return { ...part, data: data.url };
    case 'text':
      return { type: 'text' as const, text: data.text };
    case 'reference':
      return { type: 'text' as const, text: `[file ${part.filename ?? part.mediaType}]` };
  }
}

function toOutput(
  output: LanguageModelV4ToolResultOutput,
): Exclude<LanguageModelV2ToolResultOutput, { type: 'content' }> {
  if (output.type === 'execution-denied')
    return { type: 'error-text', value: output.reason ?? 'the call was denied' };
  if (output.type !== 'content') return output;
  const text = output.value.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`));
  return { type: 'text', value: text.join('\n') };
}

function toContent(
  part: LanguageModelV2Content | LanguageModelV3Content,
): readonly LanguageModelV4Content[] {
  // The text of the answer contains the results of tools that the provider executed.
  if (part.type === 'tool-result' || part.type === 'tool-approval-request') return [];
  return part.type === 'file' ? [toNewerFile(part)] : [part];
}

function toNewerFile({
  mediaType,
  data,
}: Pick<LanguageModelV2File, 'mediaType' | 'data'>): LanguageModelV4File {
  return { type: 'file', mediaType, data: { type: 'data', data } };
}

function toStreamPart(
  part: LanguageModelV2StreamPart | LanguageModelV3StreamPart,
): readonly LanguageModelV4StreamPart[] {
  switch (part.type) {
    case 'tool-result':
    case 'tool-approval-request':
      return [];
    case 'file':
      return [toNewerFile(part)];
    case 'stream-start':
      return [{ type: 'stream-start', warnings: [] }];
    case 'finish': {
      const { finishReason, usage } = part;
      return [
        { type: 'finish', finishReason: toFinishReason(finishReason), usage: toUsage(usage) },
      ];
    }
    default:
      return [part];
  }
}

function toFinishReason(
  reason: LanguageModelV2FinishReason | LanguageModelV3FinishReason,
): LanguageModelV3FinishReason {
  if (typeof reason !== 'string') return reason;
  // Adapters of v2 report `unknown` if the provider gave no reason; v3 and v4 leave `raw` out.
  if (reason === 'unknown') return { unified: 'other', raw: undefined };
  return { unified: reason, raw: reason };
}

function toUsage(usage: LanguageModelV2Usage | LanguageModelV3Usage): LanguageModelV4Usage {
  if (isV3Usage(usage)) return usage;
  const { inputTokens, cachedInputTokens, outputTokens, reasoningTokens } = usage;
  const cached = { noCache: undefined, cacheRead: cachedInputTokens, cacheWrite: undefined };
  return {
    inputTokens: { total: inputTokens, ...cached },
    outputTokens: { total: outputTokens, text: undefined, reasoning: reasoningTokens },
  };
}

function isV3Usage(
  usage: LanguageModelV2Usage | LanguageModelV3Usage,
): usage is LanguageModelV3Usage {
  return typeof usage.inputTokens === 'object';
}
