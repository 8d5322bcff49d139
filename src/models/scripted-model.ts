import type { LanguageModelV4 } from '@ai-sdk/provider';
import { checkOptions, isJsonObject, type OptionNames, parseJson } from '../protocol/index.ts';
import { CompatibleModel } from './compatible-model.ts';
import { type Script, type ScriptedRequest, ScriptPlayer } from './script.ts';
import { answerFromScript } from './scripted-wire.ts';

/**
 * A model that answers from a script and records its requests.
 * @example
 * const model: ScriptedModel = scriptedModel(['Hello, Ada!']);
 * await generateText(model, { prompt: 'I am Ada' });
 * console.log(model.requests[0]?.lastUserText); // 'I am Ada'
 */
export interface ScriptedModel extends LanguageModelV4 {
  /** Whether the model supports a JSON schema as response format. */
  readonly supportsStructuredOutputs: boolean;
  /** The requests so far, oldest first. */
  readonly requests: readonly ScriptedRequest[];
}

/**
 * Options of a scripted model.
 * @example const options: ScriptedModelOptions = { modelId: 'gpt-4o', structuredOutput: true };
 */
export interface ScriptedModelOptions {
  /** The name of the model. @default 'scripted' */
  readonly modelId?: string;
  /** Whether the model supports a JSON schema as response format. @default false */
  readonly structuredOutput?: boolean;
}

const optionNames: OptionNames<ScriptedModelOptions> = {
  modelId: 'string',
  structuredOutput: 'boolean',
};

/**
 * A model that answers from a script, for tests without a network. It uses the adapter of real
 * services with a scripted connection, so errors, delays and timeouts behave the same.
 * @example const model = scriptedModel(['start flow transfer_money'])
 */
export function scriptedModel(script: Script, options: ScriptedModelOptions = {}): ScriptedModel {
  checkOptions('scriptedModel', options, optionNames);
  const { modelId = 'scripted', structuredOutput = false } = options;
  const player = new ScriptPlayer(script);
  const endpoint = {
    baseUrl: 'http://scripted.invalid/v1',
    modelId,
    headers: {},
    structuredOutput,
  };
  const answer: typeof globalThis.fetch = (_, init = {}) => {
    const body = parseJson(typeof init.body === 'string' ? init.body : '');
    if (!isJsonObject(body)) throw new TypeError('the body must be a JSON object');
    return answerFromScript(player, body, init.signal ?? undefined);
  };
  const model = new CompatibleModel({ provider: 'scripted' }, endpoint, { fetch: answer });
  return {
    specificationVersion: 'v4',
    provider: model.provider,
    modelId,
    supportedUrls: {},
    supportsStructuredOutputs: structuredOutput,
    requests: player.requests,
    doGenerate: (call) => model.doGenerate(call),
    doStream: (call) => model.doStream(call),
  };
}
