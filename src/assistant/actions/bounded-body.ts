/** The text of a response, read only as far as it may go. */
export async function readBounded(
  response: Response,
  maxBytes: number,
  where: string,
): Promise<string> {
  const decoder = new TextDecoder();
  let size = 0;
  let text = '';
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    // Leaving the loop cancels the body, and with it the connection.
    if (size > maxBytes) throw new Error(`${where} answered more than ${maxBytes} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
