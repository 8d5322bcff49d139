/** Work at a stretch, in milliseconds: several streams and the drawing share a picture's time of 16. */
const stretch = 3;
/** A page that nobody sees draws nothing: then this is a picture, in milliseconds. */
const unseen = 100;

let next: Promise<void> | undefined;

/** The next picture, for all who wait for it. */
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
 * Gives the browser time to draw while much has to be done: `breathe` returns at once until a stretch
 * of work is over, and else with the next picture.
 */
export class Breather {
  #since = performance.now();

  async breathe(): Promise<void> {
    if (performance.now() - this.#since < stretch) return;
    await nextPicture();
    this.#since = performance.now();
  }
}
