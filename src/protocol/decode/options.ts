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
   * Levels of objects and arrays inside one metadata or data value. The default leaves room for
   * the wrappers around it, so that what came in can go out within `parseJson`'s depth of 64.
   * @default 48
   */
  readonly maxValueDepth: number;
}

/** Bounds of what is decoded, unless others are given. */
export const defaultDecodeLimits: DecodeLimits = {
  maxIdLength: 256,
  maxStringLength: 8192,
  maxParts: 1024,
  maxListLength: 1024,
  maxValueDepth: 48,
};

/** How strictly and within which bounds a decoder reads. */
export interface DecodeOptions {
  /** @default defaultDecodeLimits */
  readonly limits?: Partial<DecodeLimits>;
  /** Makes the id of a message that has none. @default unset: such a message is refused */
  readonly newMessageId?: () => string;
  /**
   * Takes messages and artifacts without parts, as some peers send them to end an artifact. For
   * clients: what a server takes in must have parts. @default false
   */
  readonly allowEmptyParts?: boolean;
  /** The value was made from a query string: `'true'` and `'false'` are booleans. @default false */
  readonly fromQuery?: boolean;
}
