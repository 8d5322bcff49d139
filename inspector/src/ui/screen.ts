import { signal } from '@preact/signals';

/** Room for two things side by side, in pixels. */
const wide = 960;

/** Whether there is room for two things side by side. */
export const isWide = signal(innerWidth >= wide);

addEventListener('resize', () => {
  isWide.value = innerWidth >= wide;
});
