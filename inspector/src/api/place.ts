/** The base URL of the page: `.../inspect/`. */
export const place = new URL('.', document.baseURI);

/** The A2A address of one of the server's own agents. */
export function agentAddress(name: string): string {
  return new URL(`a2a/${encodeURIComponent(name)}`, place).href;
}

/** The address of the built-in webhook receiver. */
export function receiverAddress(key: string): string {
  return new URL(`hook/${key}`, place).href;
}
