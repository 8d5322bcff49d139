/** The number of each turn in its task, from 1: attempts at one turn share it. */
export function turnNumbers(turns: readonly { readonly messageId: string }[]): readonly number[] {
  const messages = new Set<string>();
  return turns.map(({ messageId }) => messages.add(messageId).size);
}
