/**
 * Language models: by name, scripted for tests, and recorded.
 * @module
 */
export { createModel, createModels, type CreateModelOptions, modelFetch } from './create-model.ts';
export {
  type AnyEmbeddingModel,
  createEmbedder,
  type Embedder,
  toEmbedder,
} from './embedding-model.ts';
export {
  generateText,
  type GeneratedText,
  type GenerateTextOptions,
  type TokenUsage,
} from './generate-text.ts';
export type { OnText } from './stream-text.ts';
export { readModelGroup } from './model-group.ts';
export { describeModelFailure, isModelError, type ModelFailure } from './failure.ts';
export { inModelScope, modelInScope } from './model-scope.ts';
export { isSupported, readModel, readModelGroups } from './model-groups.ts';
export { type AnyLanguageModel, toLanguageModel } from './older-model.ts';
export { type Endpoint, isProvider, resolveEndpoint } from './providers.ts';
export { recordedModel, type RecordedModelOptions, type RecordingMode } from './recorded-model.ts';
export { offersStructuredOutput, timeoutOf } from './routed-model.ts';
export {
  type Script,
  type ScriptedAnswer,
  type ScriptedReply,
  type ScriptedRequest,
  type ScriptedToolCall,
  whenAsked,
} from './script.ts';
export { type ScriptedModel, scriptedModel, type ScriptedModelOptions } from './scripted-model.ts';
export {
  type EmbeddingScript,
  type ReceivedCall,
  type ScriptedModelServer,
  type ScriptedModelServerOptions,
  startScriptedModelServer,
} from './scripted-server.ts';
