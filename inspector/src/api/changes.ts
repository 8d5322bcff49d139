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
}
