/** Work at a stretch, in milliseconds: what is left of a picture's time is for drawing it. */
const stretch = 6;

/**
 * Gives the browser time to draw while much has to be done: `breathe` returns at once until a stretch
 * of work is over. A page that nobody sees draws nothing, and goes on.
 */
export class Breather {
  #since = performance.now();

  async breathe(): Promise<void> {
    if (performance.now() - this.#since < stretch) return;
    if (!document.hidden) await new Promise((resolve) => void setTimeout(resolve));
    this.#since = performance.now();
  }
}
