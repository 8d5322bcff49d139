import type { LanguageModelV4 } from '@ai-sdk/provider';
import { type GeneratedText, generateText, timeoutOf } from '../../models/index.ts';
import { type ClientTlsFiles, present } from '../../config/index.ts';
import { clientTls } from '../../net/index.ts';
import { invalidConfiguration } from '../../protocol/index.ts';
import { tlsFetch } from '../../push/index.ts';
import { type Logger, traceHeaders } from '../../telemetry/index.ts';
import { Deadline } from '../../time/index.ts';
import { readBounded, readResponse } from '../actions/remote.ts';
import type { NlgEndpoint } from '../project/endpoints.ts';
import { noted } from '../prompt-note.ts';
import type { Rephraser, ResponseWriter } from '../responses/responder.ts';
import { rephraserScope } from '../templates/prompt-scopes.ts';
import { compileTemplate } from '../templates/template.ts';

/** The default prompt; a project can set its own. */
const defaultPrompt = `You rewrite one line of an assistant so that it fits the conversation.
Keep its meaning, every fact, number and name in it, and its language. Do not add anything. Answer with the
rewritten line alone.

Conversation:
{{ history }}

Line to rewrite: {{ suggested_response }}`;

interface RephraserOptions {
  /** Models by the ids of their groups. */
  readonly models: ReadonlyMap<string, LanguageModelV4>;
  /** Files that the configuration refers to. */
  readonly files: ReadonlyMap<string, string>;
  /** `language` of config.yml, for conversations without the slot `language`. @default 'en' */
  readonly language?: string;
  readonly logger: Logger;
  /** Milliseconds before the response is sent as written. @default the timeout of the model, else 7_000 */
  readonly timeoutMs?: number;
}

/** Creates the rephraser, which rewords responses with a model. Undefined if the project has none. */
export function rephraserOf(
  nlg: NlgEndpoint | undefined,
  { models, files, logger, language = 'en', ...options }: RephraserOptions,
): Rephraser | undefined {
  if (nlg?.type !== 'rephrase') return undefined;
  const { modelGroup, maxHistoricalTurns } = nlg;
  const model = modelGroup === undefined ? [...models.values()][0] : models.get(modelGroup);
  if (model === undefined && modelGroup !== undefined) {
    throw invalidConfiguration(
      `nlg: rephrasing needs a model; name one of the model_groups of endpoints.yml in nlg.llm.model_group`,
    );
  }
  if (model === undefined) {
    logger.warn({ component: 'rephraser', used: 'responses as written' }, 'rephraser.no_model');
    return undefined;
  }
  const timeoutMs = options.timeoutMs ?? timeoutOf(model) ?? 7_000;
  const ownPrompt = nlg.prompt === undefined ? undefined : files.get(nlg.prompt);
  return {
    rephraseAll: nlg.rephraseAll,
    async rephrase(request) {
      const template = compileTemplate(request.prompt ?? ownPrompt ?? defaultPrompt);
      const { text: written, transcript, language: chosen, signal, noting } = request;
      const scope = rephraserScope({
        text: written,
        transcript,
        maxMessages: 2 * maxHistoricalTurns,
        language: chosen ?? language,
      });
      const prompt = template.render(scope);
      const ask = (): Promise<GeneratedText> =>
        generateText(model, { prompt, signal, timeoutMs, retries: 0, logger });
      const called = { component: 'rephraser', model: model.modelId, prompt };
      const { text } = noting === undefined ? await ask() : await noted(noting, called, ask);
      return text.trim();
    },
  };
}

export interface ResponseServerOptions {
  readonly url: string;
  /** Sent as the query parameter `token`. */
  readonly token?: string | undefined;
  /** Milliseconds for one response. @default 10_000 */
  readonly timeoutMs?: number;
  /** @default 256 KiB */
  readonly maxResponseBytes?: number;
  /** Certificates for calls to the server. */
  readonly tls?: ClientTlsFiles | undefined;
  /** The base directory of relative paths. @default the working directory */
  readonly directory?: string;
  readonly logger?: Logger;
}

/**
 * Generates responses with an NLG server (`nlg.url`): one POST per response. Requests are not retried,
 * because the responses of the domain are the fallback.
 */
export function responseServer(options: ResponseServerOptions): ResponseWriter {
  const { token, timeoutMs = 10_000, maxResponseBytes = 256 * 1024 } = options;
  const url = new URL(options.url);
  const { tls, directory, logger } = options;
  const fetch =
    tls === undefined
      ? globalThis.fetch
      : tlsFetch(clientTls(tls, { what: 'nlg', ...present({ directory, logger }) }));
  // For errors and logs: the address without credentials.
  const name = `response server ${url.origin}${url.pathname}`;
  if (token !== undefined) url.searchParams.set('token', token);
  return {
    async write({ response, id, values, channel, tracker, signal }) {
      const body = {
        response,
        id: id ?? null,
        arguments: values,
        tracker: await tracker(),
        channel: { name: channel },
      };
      using deadline = new Deadline({
        signal,
        milliseconds: timeoutMs,
        reason: () => new Error(`${name} did not answer within ${timeoutMs} ms`),
      });
      const answer = await fetch(url, {
        method: 'POST',
        headers: { ...traceHeaders(), 'content-type': 'application/json' },
        body: JSON.stringify(body),
        redirect: 'error',
        signal: deadline.signal,
      });
      const text = await readBounded(answer, maxResponseBytes, name);
      if (!answer.ok) throw new Error(`${name} answered ${answer.status} for ${response}`);
      const message = readResponse(text, name);
      if (message === undefined)
        throw new Error(`${name} returned an empty response for ${response}`);
      return message;
    },
  };
}
