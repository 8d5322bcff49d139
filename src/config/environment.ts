/** Variables by name; `process.env` fits. */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface Interpolated {
  readonly text: string;
  /** Names that the environment does not have. */
  readonly missing: readonly string[];
  /** Whether the text was a reference and nothing else. */
  readonly isReference: boolean;
  /** Whether a variable's value is part of the text. */
  readonly isInterpolated: boolean;
}

const reference = /(\$?)\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** Replaces `${NAME}` in a text; `$${NAME}` stays, without its first dollar sign. */
export function interpolate(text: string, environment: Environment): Interpolated {
  const missing: string[] = [];
  let count = 0;
  const result = text.replace(reference, (written, escape: string, name: string) => {
    if (escape !== '') return written.slice(1);
    count += 1;
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
    if (value === undefined) missing.push(name);
    return value ?? '';
  });
  return {
    text: result,
    missing,
    isReference: count === 1 && /^\$\{[A-Za-z0-9_]+\}$/.test(text.trim()),
    isInterpolated: count > 0,
  };
}
