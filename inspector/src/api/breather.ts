/** Longest run of work without a break, in milliseconds: streams and rendering share the 16 ms of a frame. */
const stretch = 3;
/** Frame time of a hidden page, which renders nothing, in milliseconds. */
const unseen = 100;

let next: Promise<void> | undefined;

/** Resolves with the next frame; shared by all waiters. */
function nextPicture(): Promise<void> {
  next ??= new Promise<void>((resolve) => {
    const timer = setTimeout(go, unseen);
    const frame = requestAnimationFrame(go);
    function go(): void {
      clearTimeout(timer);
      cancelAnimationFrame(frame);
      next = undefined;
      resolve();
    }
  });
  return next;
}

/**
 * Lets the browser render during long work: `breathe` resolves at once until the time slice is used
 * up, and then with the next frame.
 */
export class Breather {
  #since = performance.now();

  async breathe(): Promise<void> {
    if (performance.now() - this.#since < stretch) return;
    await nextPicture();
    this.#since = performance.now();
  }
}
