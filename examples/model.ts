/**
 * The model of an example: by default it responds from a script over real HTTP, so that the example runs
 * anywhere. `LEGATE_EXAMPLE_MODEL` selects a real one at OpenAI (`OPENAI_API_KEY`), or at
 * `LEGATE_EXAMPLE_API_BASE`, for instance `http://127.0.0.1:11434/v1`.
 */
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { createModel, type Script, startScriptedModelServer } from '../src/models/index.ts';

export interface ExampleModel extends AsyncDisposable {
  readonly model: LanguageModelV4;
  /** Whether its responses are known in advance. */
  readonly isScripted: boolean;
}

/** The URL of such a model, for configurations with a URL. */
export interface ExampleEndpoint extends AsyncDisposable {
  readonly model: string;
  readonly url: string;
  readonly key: string;
  readonly isScripted: boolean;
}

export async function exampleEndpoint(script: Script): Promise<ExampleEndpoint> {
  const { LEGATE_EXAMPLE_MODEL: model, LEGATE_EXAMPLE_API_BASE, OPENAI_API_KEY } = process.env;
  if (model !== undefined) {
    const url = LEGATE_EXAMPLE_API_BASE ?? 'https://api.openai.com/v1';
    const key = OPENAI_API_KEY ?? 'none';
    return { model, url, key, isScripted: false, [Symbol.asyncDispose]: async () => undefined };
  }
  const server = await startScriptedModelServer(script);
  const { url } = server;
  const close = () => server.close();
  return { model: 'scripted', url, key: 'none', isScripted: true, [Symbol.asyncDispose]: close };
}

export async function exampleModel(script: Script): Promise<ExampleModel> {
  const { LEGATE_EXAMPLE_MODEL: name, LEGATE_EXAMPLE_API_BASE: base } = process.env;
  if (name !== undefined) {
    const provider = base === undefined ? 'openai' : 'openai-compatible';
    const models = [{ provider, model: name, ...(base !== undefined && { api_base: base }) }];
    const model = createModel({ id: 'example', models });
    return { model, isScripted: false, [Symbol.asyncDispose]: async () => undefined };
  }
  const server = await startScriptedModelServer(script);
  const models = [{ provider: 'openai-compatible', model: 'scripted', api_base: server.url }];
  const model = createModel({ id: 'example', models });
  return { model, isScripted: true, [Symbol.asyncDispose]: () => server.close() };
}
