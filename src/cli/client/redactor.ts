const censored = '[redacted]';

/** Shorter values would redact ordinary words. */
const shortestSecret = 3;

/** Redacts credentials in all output about a call; no flag turns it off. */
export class Redactor {
  readonly #secrets: string[] = [];

  /** In every encoding that may occur on the wire. */
  add(secret: string): void {
    if (secret.length < shortestSecret) return;
    const spellings = new Set([
      secret,
      encodeURIComponent(secret.toWellFormed()),
      new URLSearchParams([['', secret]]).toString().slice(1),
      JSON.stringify(secret).slice(1, -1),
      Buffer.from(secret).toString('base64'),
    ]);
    this.#secrets.push(...spellings);
    // The longest first: a secret that contains another one must be redacted as a whole.
    this.#secrets.sort((left, right) => right.length - left.length);
  }

  clean(text: string): string {
    return this.#secrets.reduce((result, secret) => result.replaceAll(secret, censored), text);
  }

  /** The value of a header; headers that carry credentials by their name are never shown. */
  header(name: string, value: string): string {
    return credentialHeader.test(name) ? censored : this.clean(value);
  }
}

const credentialHeader =
  /^(?:authorization|proxy-authorization|cookie|set-cookie)$|api-?key|token|secret|password|credential/i;
