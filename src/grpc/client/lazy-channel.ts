import type { BindingCall, BindingChannel } from '../../client/index.ts';
import { LegateError } from '../../protocol/index.ts';
import { until } from '../../time/index.ts';

/**
 * A channel that is made when it is needed. It is **away** until the first call, which **makes** it;
 * then it is **there** for all calls until it is closed or does not reach the peer, and is away again:
 * the next call looks the peer up anew, which may have moved.
 */
export class LazyChannel implements BindingChannel {
  readonly #make: () => Promise<BindingChannel>;
  /** Undefined while it is away. */
  #made: Promise<BindingChannel> | undefined;

  constructor(make: () => Promise<BindingChannel>) {
    this.#make = make;
  }

  call(...request: Parameters<BindingChannel['call']>): Promise<unknown> {
    return this.#with(request[2], (channel) => channel.call(...request));
  }

  stream(...request: Parameters<BindingChannel['stream']>): Promise<AsyncIterable<unknown>> {
    return this.#with(request[2], (channel) => channel.stream(...request));
  }

  close(): void {
    const former = this.#made;
    this.#made = undefined;
    // One that could not be made was told to those who called.
    former?.then((channel) => channel.close()).catch(() => undefined);
  }

  async #with<T>(
    { signal }: BindingCall,
    use: (channel: BindingChannel) => Promise<T>,
  ): Promise<T> {
    const made = (this.#made ??= this.#make());
    try {
      return await use(await until(made, signal));
    } catch (error) {
      const isLost = error instanceof LegateError && error.code === 'PEER_UNREACHABLE';
      if (this.#made === made && isLost) this.close();
      throw error;
    }
  }
}
