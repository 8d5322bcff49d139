/** What went over the wire so far, for measurements. */
export interface Traffic {
  /** Times the store waited for an answer; statements that were sent together count once. */
  readonly roundTrips: number;
  readonly statements: number;
  /** Transactions that wrote. */
  readonly transactions: number;
}

export class TrafficCount implements Traffic {
  roundTrips = 0;
  statements = 0;
  transactions = 0;
}
