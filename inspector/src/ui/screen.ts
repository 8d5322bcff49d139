import { signal } from '@preact/signals';

/** Whether there is room for two things side by side. */
export const isWide = signal(innerWidth >= 960);
/** Whether this is a phone, held upright. */
export const isNarrow = signal(innerWidth < 704);

addEventListener('resize', () => {
  isWide.value = innerWidth >= 960;
  isNarrow.value = innerWidth < 704;
});
