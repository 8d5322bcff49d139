const redacted = '[redacted]';

/** Shorter values would redact ordinary words. */
const minSecretLength = 3;

/** Redacts credentials in all output about a call; no flag turns it off. */
export class Redactor {
  readonly #secrets: string[] = [];

  /** Adds secrets in every encoding that can occur on the wire. */
  add(...secrets: readonly (string | undefined)[]): void {
    for (const secret of secrets) {
      if (secret === undefined || secret.length < minSecretLength) continue;
      const encodings = new Set([
        secret,
        encodeURIComponent(secret.toWellFormed()),
        new URLSearchParams([['', secret]]).toString().slice(1),
        JSON.stringify(secret).slice(1, -1),
        Buffer.from(secret).toString('base64'),
      ]);
      this.#secrets.push(...encodings);
    }
    // The longest first: a secret that contains another one must be redacted as a whole.
    this.#secrets.sort((left, right) => right.length - left.length);
  }

  clean(text: string): string {
    return this.#secrets.reduce((result, secret) => result.replaceAll(secret, redacted), text);
  }

  /** A line of a message on the wire. Credentials of OAuth are redacted by name: most are new secrets. */
  wire(text: string): string {
    return this.clean(text)
      .replaceAll(jsonCredential, `$1"${redacted}"`)
      .replaceAll(formCredential, `$1${redacted}`);
  }

  /** The value of a header; headers that carry credentials by their name are never shown. */
  header(name: string, value: string): string {
    return credentialHeader.test(name) ? redacted : this.clean(value);
  }
}

/** Without `code`, which names errors in JSON; codes of authorization servers are sent in forms. */
const jsonCredential =
  /("(?:access_token|refresh_token|id_token|device_code|code_verifier|client_secret)"\s*:\s*)"(?:[^"\\]|\\.)*"?/g;
const formCredential =
  /((?:^|[?&])(?:access_token|refresh_token|id_token|device_code|code|code_verifier|client_secret)=)[^&#"\s]+/g;

const credentialHeader =
  /^(?:authorization|proxy-authorization|cookie|set-cookie)$|api-?key|token|secret|password|credential/i;
