import type { LanguageModelV4 } from '@ai-sdk/provider';
import { type GeneratedText, generateText } from '../../models/index.ts';
import { LegateError } from '../../protocol/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { NlgEndpoint } from '../project/index.ts';
import { noted } from '../prompt-note.ts';
import type { Rephraser, RephraseRequest } from '../responses/index.ts';
import { compileTemplate } from '../templates/index.ts';

/** Our own; a project may name another. */
const defaultPrompt = `You rewrite one line of an assistant so that it fits the conversation.
Keep its meaning, every fact, number and name in it, and its language. Do not add anything. Answer with the
rewritten line alone.

Conversation:
{{ history }}

Line to rewrite: {{ suggested_response }}`;

export interface RephraserOptions {
  /** By the ids of their groups. */
  readonly models: ReadonlyMap<string, LanguageModelV4>;
  /** Texts that the configuration refers to. */
  readonly files: ReadonlyMap<string, string>;
  readonly logger: Logger;
  /** How long a model may take before the response is said as it is written. @default 7_000 */
  readonly timeoutMs?: number;
}

/** Says responses in other words through a model, where the project asks for it. */
export function rephraserOf(
  nlg: NlgEndpoint | undefined,
  { models, files, logger, timeoutMs = 7_000 }: RephraserOptions,
): Rephraser | undefined {
  if (nlg?.type !== 'rephrase') return undefined;
  const { modelGroup, maxHistoricalTurns } = nlg;
  const model = modelGroup === undefined ? [...models.values()][0] : models.get(modelGroup);
  if (model === undefined) {
    throw new LegateError(
      'CONFIGURATION_INVALID',
      `nlg: rephrasing needs a model; name one of the model_groups of endpoints.yml in nlg.llm.model_group`,
    );
  }
  const ownPrompt = nlg.prompt === undefined ? undefined : files.get(nlg.prompt);
  return {
    rephraseAll: nlg.rephraseAll,
    async rephrase(request) {
      const template = compileTemplate(request.prompt ?? ownPrompt ?? defaultPrompt);
      const prompt = template.render(scopeOf(request, maxHistoricalTurns));
      const { signal, noting } = request;
      const ask = (): Promise<GeneratedText> =>
        generateText(model, { prompt, signal, timeoutMs, retries: 0, logger });
      const asked = { component: 'rephraser', model: model.modelId, prompt };
      const { text } = noting === undefined ? await ask() : await noted(noting, asked, ask);
      return text.trim();
    },
  };
}

function scopeOf({ text, transcript, language }: RephraseRequest, turns: number) {
  const recent = turns === 0 ? [] : transcript.slice(-2 * turns);
  return {
    suggested_response: text,
    history: recent.map(({ speaker, text: said }) => `${speaker}: ${said}`).join('\n'),
    current_input: transcript.findLast(({ speaker }) => speaker === 'user')?.text ?? '',
    language: language ?? '',
  };
}
