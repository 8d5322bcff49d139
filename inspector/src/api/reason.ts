/** Why something failed, in the words of whoever refused it. */
export function reasonOf(error: unknown, otherwise = 'it was refused'): string {
  return error instanceof Error ? error.message : otherwise;
}
