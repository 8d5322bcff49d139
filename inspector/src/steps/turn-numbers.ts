/** Numbers the turns of a task from 1; attempts at one turn share a number. */
export function turnNumbers(turns: readonly { readonly messageId: string }[]): readonly number[] {
  const messages = new Set<string>();
  return turns.map(({ messageId }) => messages.add(messageId).size);
}
