import type {
  BindingCall,
  BindingChannel,
  ChosenInterface,
  ClientBinding,
} from '../../client/index.ts';
import {
  type Dialect,
  errorTable,
  LegateError,
  type Operation,
  type SseEvent,
  v03Rest,
  v1,
} from '../../protocol/index.ts';
import { type Answer, mostBytes, type Probe } from './probe.ts';
import type { Speaker, SpeakOptions, Spoken } from './speaker.ts';
import { usage } from '../usage.ts';

/** Calls an agent over gRPC. Converts responses to JSON, so that the checks for HTTP apply to them. */
export class GrpcSpeaker implements Speaker {
  readonly binding = 'GRPC';
  readonly name: string;
  readonly version: '1.0' | '0.3';
  readonly url: string;
  readonly dialect: Dialect;
  readonly #probe: Probe;
  readonly #channel: BindingChannel;
  readonly #tenant: string | undefined;

  constructor(
    probe: Probe,
    binding: ClientBinding,
    options: { readonly chosen: ChosenInterface; readonly tenant?: string },
  ) {
    const { chosen, tenant } = options;
    this.#probe = probe;
    this.#tenant = tenant;
    this.version = chosen.version;
    this.name = `GRPC ${chosen.version}`;
    this.url = chosen.url.href;
    this.dialect = chosen.version === '1.0' ? v1 : v03Rest;
    this.#channel = binding.open(chosen, { maxBodySize: mostBytes, maxEventSize: mostBytes });
  }

  async speak(
    operation: Operation,
    parameters: Readonly<Record<string, unknown>>,
    options: SpeakOptions = {},
  ): Promise<Spoken> {
    const json = this.#request(parameters);
    using deadline = this.#probe.deadline(`${operation} at ${this.url}`);
    const call = { headers: this.#headers(options), signal: deadline.signal };
    try {
      if (operation !== 'sendStreamingMessage' && operation !== 'subscribeToTask') {
        const result = await this.#channel.call(operation, json, call);
        return { answer: answerOf(200, result), result };
      }
      const stream = await this.#channel.stream(operation, json, call);
      return { answer: await readStream(stream, options.isEnough) };
    } catch (error) {
      deadline.signal.throwIfAborted();
      if (!(error instanceof LegateError) || error.code === 'PEER_UNREACHABLE') throw error;
      const { http } = errorTable[error.code];
      return { answer: answerOf(http, { error: error.message }), error };
    }
  }

  eventOf(data: string): unknown {
    return JSON.parse(data);
  }

  close(): void {
    this.#channel.close();
  }

  /** In 0.3 the name of a task contains its id. */
  #request(parameters: Readonly<Record<string, unknown>>): unknown {
    const { id, ...rest } = parameters;
    const isNamed = this.version === '0.3' && typeof id === 'string';
    const named = isNamed ? { ...rest, name: `tasks/${id}` } : parameters;
    return this.#tenant === undefined || this.version === '0.3'
      ? named
      : { tenant: this.#tenant, ...named };
  }

  #headers({ headers = {}, isAnonymous = false }: SpeakOptions): BindingCall['headers'] {
    const own = { 'A2A-Version': this.version, ...headers };
    const prepared = this.#probe.prepare({ url: this.url, headers: own, isAnonymous });
    if (prepared.url === this.url) return prepared.headers;
    throw usage('an API key in the query cannot be sent over gRPC: send it in a header');
  }
}

function answerOf(status: number, json: unknown): Answer {
  const text = JSON.stringify(json);
  return { status, headers: new Headers(), text, json, isComplete: true };
}

async function readStream(
  stream: AsyncIterable<unknown>,
  isEnough: SpeakOptions['isEnough'],
): Promise<Answer> {
  const events: SseEvent[] = [];
  let isComplete = true;
  try {
    for await (const event of stream) {
      events.push({ id: '', event: 'message', data: JSON.stringify(event) });
      if (isEnough?.(events) === true) {
        isComplete = false;
        break;
      }
    }
  } catch {
    // Cut off, or timed out: returns the events so far; the caller reports that the stream did not end.
    isComplete = false;
  }
  return { ...answerOf(200, undefined), text: '', events, isComplete };
}
