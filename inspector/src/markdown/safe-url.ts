/** Only what leads to another page: no scripts, no data, no addresses within this one. */
export function safeUrl(address: string): string | undefined {
  const url = URL.parse(address);
  return url !== null && ['http:', 'https:', 'mailto:'].includes(url.protocol)
    ? url.href
    : undefined;
}
