import { signal } from '@preact/signals';

/** Signals changes of an object that is mutated in place, at most once per frame. */
export class Changes {
  /** Increases with every change; read it to subscribe. */
  readonly version = signal(0);
  #isDue = false;

  changed(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      this.version.value += 1;
    });
  }

  /** The object itself; the component that calls it renders again after every change. */
  current(): this {
    void this.version.value;
    return this;
  }
}

/** Longest work without a break, in milliseconds: streams and rendering share the 16 ms of a frame. */
const sliceMs = 3;
/** Frame time of a hidden page, which renders nothing, in milliseconds. */
const hiddenFrameMs = 100;

let nextFrame: Promise<void> | undefined;

/** Resolves with the next frame; shared by all waiters. */
function frame(): Promise<void> {
  nextFrame ??= new Promise<void>((resolve) => {
    const timer = setTimeout(done, hiddenFrameMs);
    const request = requestAnimationFrame(done);
    function done(): void {
      clearTimeout(timer);
      cancelAnimationFrame(request);
      nextFrame = undefined;
      resolve();
    }
  });
  return nextFrame;
}

/** Lets the browser render during long work: waits for the next frame whenever the slice is used up. */
export class TimeSlice {
  #since = performance.now();

  async yieldToBrowser(): Promise<void> {
    if (performance.now() - this.#since < sliceMs) return;
    await frame();
    this.#since = performance.now();
  }
}
