/** Allows only links to other pages: no scripts, no data, no links within this page. */
export function safeUrl(address: string): string | undefined {
  const url = URL.parse(address);
  return url !== null && ['http:', 'https:', 'mailto:'].includes(url.protocol)
    ? url.href
    : undefined;
}
