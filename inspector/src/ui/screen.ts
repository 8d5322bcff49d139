import { signal } from '@preact/signals';

/** Minimum width for two columns, in pixels. */
const wide = 960;

/** Whether the screen is wide enough for two columns. */
export const isWide = signal(innerWidth >= wide);

addEventListener('resize', () => {
  isWide.value = innerWidth >= wide;
});
