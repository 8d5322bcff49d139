import { histogram, upDownCounter } from '../telemetry/index.ts';

const seconds = histogram('legate.request.duration');
const openStreams = upDownCounter('legate.streams.open');

/**
 * Counts and times one request by transport, operation and outcome, when it is disposed of. If the answer
 * is a stream, the time ends when the stream opens. The stream then counts as open until disposal.
 */
export class RequestMeter implements Disposable {
  readonly #transport: string;
  readonly #startedAt = performance.now();
  #state: 'running' | 'streaming' | 'recorded' = 'running';
  /** Set once it is known. */
  operation = 'unknown';
  /** The code of the error in the response. */
  error: string | undefined;

  /** `jsonrpc`, `rest`, `grpc`, `amqp`, or `http` for the endpoints of channels. */
  constructor(transport: 'jsonrpc' | 'rest' | 'grpc' | 'amqp' | 'http') {
    this.#transport = transport;
  }

  /** Records that the answer is a stream, which opens now. */
  stream(): void {
    this.#record();
    this.#state = 'streaming';
    openStreams.add(1, { transport: this.#transport });
  }

  [Symbol.dispose](): void {
    if (this.#state === 'running') this.#record();
    else if (this.#state === 'streaming') openStreams.add(-1, { transport: this.#transport });
    this.#state = 'recorded';
  }

  #record(): void {
    const { operation, error: outcome = 'ok' } = this;
    const labels = { transport: this.#transport, operation, outcome };
    seconds.record((performance.now() - this.#startedAt) / 1000, labels);
  }
}
