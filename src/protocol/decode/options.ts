/**
 * Size limits of decoded values. Everything else is bounded by the size of the body, which the
 * transport limits.
 */
export interface DecodeLimits {
  /** Characters of an id: message, context, task, artifact, push configuration, tenant. @default 256 */
  readonly maxIdLength: number;
  /** Characters of a short text: webhook URL, token, credentials, name, media type. @default 8192 */
  readonly maxStringLength: number;
  /** Parts of one message. @default 1024 */
  readonly maxParts: number;
  /** Entries of one list of strings, and of one list or map of an agent card. @default 1024 */
  readonly maxListLength: number;
  /**
   * Levels of objects and arrays inside one metadata or data value. The default leaves room for the
   * wrappers around it: a value that was accepted can be sent within `parseJson`'s depth of 64.
   * @default 48
   */
  readonly maxValueDepth: number;
}

/** The default limits. */
export const defaultDecodeLimits: DecodeLimits = {
  maxIdLength: 256,
  maxStringLength: 8192,
  maxParts: 1024,
  maxListLength: 1024,
  maxValueDepth: 48,
};

/** How strictly a decoder reads, and within which limits. */
export interface DecodeOptions {
  /** @default defaultDecodeLimits */
  readonly limits?: Partial<DecodeLimits>;
  /** Creates the id of a message without one. @default unset: such a message is rejected */
  readonly newMessageId?: () => string;
  /**
   * Accepts messages and artifacts without parts: some peers send them to end an artifact. For clients
   * only: servers require parts. @default false
   */
  readonly allowEmptyParts?: boolean;
  /** The value was made from a query string: `'true'` and `'false'` are booleans. @default false */
  readonly fromQuery?: boolean;
}
