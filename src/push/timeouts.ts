/** How long a call to an address that somebody else named may take, in milliseconds, unless it is told otherwise. */
export const outboundTimeouts = {
  /** For DNS. */
  dns: 5_000,
  /** For TCP and TLS. */
  connect: 5_000,
  /** For one call, all in all; for a call whose body is read bit by bit, until the head of the answer. */
  overall: 30_000,
} as const;
