import type { BindingChannel } from '../../client/index.ts';

/**
 * A channel that is made when it is needed. It is **away** until the first call, which **makes** it;
 * then it is **there** for all calls until it is closed, and is away again.
 */
export class LazyChannel implements BindingChannel {
  readonly #make: () => Promise<BindingChannel>;
  /** Undefined while it is away. */
  #made: Promise<BindingChannel> | undefined;

  constructor(make: () => Promise<BindingChannel>) {
    this.#make = make;
  }

  async call(...request: Parameters<BindingChannel['call']>): Promise<unknown> {
    return (await this.#channel()).call(...request);
  }

  async stream(...request: Parameters<BindingChannel['stream']>): Promise<AsyncIterable<unknown>> {
    return (await this.#channel()).stream(...request);
  }

  close(): void {
    const former = this.#made;
    this.#made = undefined;
    // One that could not be made was told to those who called.
    former?.then((channel) => channel.close()).catch(() => undefined);
  }

  #channel(): Promise<BindingChannel> {
    if (this.#made !== undefined) return this.#made;
    const made = this.#make();
    this.#made = made;
    made.catch(() => {
      if (this.#made === made) this.#made = undefined;
    });
    return made;
  }
}
