import { signal } from '@preact/signals';

/** Tells of changes to what grows in place, at most once per picture that the browser draws. */
export class Changes {
  /** Grows with every change; read it to be told. */
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
