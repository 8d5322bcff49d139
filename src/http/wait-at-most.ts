/** Waits for work that never rejects, but no longer than so many milliseconds. */
export async function waitAtMost(milliseconds: number, work: Promise<unknown>): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, milliseconds);
  await Promise.race([work, late.promise]);
  clearTimeout(timer);
}
