/**
 * Names of fields whose values are never logged, in any spelling and with any prefix: `apiKey`,
 * `X-API-KEY`, `aws_secret_access_key`.
 */
const secretName =
  /(?:authorization|cookie|token|password|passphrase|secret|credential|signature|jwt|(?:api|access|private|signing)key)s?$/;
const censored = '[redacted]';
/** Limits of the fields of one line. */
const maxDepth = 6;
const maxItems = 100;
const longestText = 10_000;

/** Credentials after their scheme, passwords in URLs, and tokens in a known format. */
const inText: readonly (readonly [RegExp, string])[] = [
  [/\b(Bearer|Basic)\s+[\w.~+/=-]{6,}/gi, `$1 ${censored}`],
  // Up to the last @, because passwords can contain one.
  [/([a-z][a-z0-9+.-]{0,30}:\/\/[^\s/:@]*):[^\s/]+@/gi, `$1:${censored}@`],
  [/\beyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]*/g, censored],
  [
    /([?&](?:[\w-]*(?:token|key|secret|password|signature)|sig|code)=)[^\s&#"']+/gi,
    `$1${censored}`,
  ],
  // `password=x`, `"api_key": "x"`, `Secret: x`, but not `auth: true`. After "token:" a short word is mostly
  // prose, so only long values match.
  [
    /((?:pass(?:word|wd|phrase)?|pwd|secret|auth|(?:api|access|private|signing)[_-]?key|authorization|credentials?)(?:\\?["'])?\s{0,3}(?:[=:]|%3D|%3A)\s{0,3})(?!(?:true|false|null)\b)(?:\\"[^"]*"|"[^"]*"|'[^']*'|[^\s,;&"')}\]]+)/gi,
    `$1${censored}`,
  ],
  // `Cookie: a=b; c=d` up to the end of the line, `--password x`, `<password>x</password>`.
  [/\b((?:set-)?cookie\s{0,3}:\s{0,3})[^\r\n"']+/gi, `$1${censored}`],
  [/(--(?:pass(?:word|wd)?|token|secret|api-?key)\s{1,3})[^\s"']+/gi, `$1${censored}`],
  [/(<(pass(?:word|wd)?|secret|token|api-?key)>)[^<]*(?=<\/\2>)/gi, `$1${censored}`],
  // `https://TOKEN@host`.
  [/([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/:@]{8,}@/gi, `$1${censored}@`],
  [
    /(token(?:["']?\s{0,3}=\s{0,3}|["']\s{0,3}:\s{0,3}))(?:"[^"]*"|'[^']*'|[^\s,;&"')}\]]+)/gi,
    `$1${censored}`,
  ],
  [/(token\s{0,3}:\s{0,3})[\w.~+/=-]{16,}/gi, `$1${censored}`],
  // Keys with a known prefix: model providers, GitHub, AWS, Slack.
  [
    /\b(?:sk-[\w-]{4,}|gh[pousr]_\w{16,}|github_pat_\w{16,}|(?:AKIA|ASIA)[A-Z0-9]{16}|xox[abprs]-[\w-]{8,})/g,
    censored,
  ],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, censored],
];

/** Replaces everything in a text that looks like a secret. */
export function hideSecrets(text: string): string {
  return inText.reduce((hidden, [secret, instead]) => hidden.replace(secret, instead), text);
}

/** A copy for logs: bounded in size, without secrets, with errors as objects. */
export function redact(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return redactFields(fields, 0);
}

function redactFields(fields: object, depth: number): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields).slice(0, maxItems)) {
    const isSecret = secretName.test(name.replaceAll(/[-_\s]/g, '').toLowerCase());
    // Numbers and booleans are not secret, such as `tokens: 12` or `password: true`.
    const hasContent = typeof value === 'string' || (typeof value === 'object' && value !== null);
    // Defines special names such as `__proto__`, too.
    Object.defineProperty(copy, name, {
      value: isSecret && hasContent ? censored : redactValue(value, depth + 1),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return copy;
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') {
    return hideSecrets(value.length > longestText ? `${value.slice(0, longestText)}...` : value);
  }
  if (typeof value === 'bigint' || typeof value === 'symbol') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > maxDepth) return '[deeper]';
  if (value instanceof Error) return redactFields(describeError(value), depth);
  if (Array.isArray(value)) {
    return value.slice(0, maxItems).map((item) => redactValue(item, depth + 1));
  }
  if (value instanceof Date || value instanceof URL) return redactValue(String(value), depth);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (value instanceof Map) return redactFields(Object.fromEntries(value), depth);
  if (value instanceof Set) return redactValue([...value], depth);
  return redactFields(value, depth);
}

function describeError(error: Error): object {
  const { name, message, stack, cause } = error;
  const code = 'code' in error ? error.code : undefined;
  return {
    type: name,
    message,
    ...(code !== undefined && { code }),
    ...(stack !== undefined && { stack }),
    ...(cause !== undefined && { cause }),
  };
}
