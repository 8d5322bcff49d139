/** A request to the process that runs the tests. */
export interface TestRequest {
  /** The mutated file, relative to the checkout. */
  readonly changed: string;
  readonly rounds: readonly (readonly string[])[];
}

export interface TestAnswer {
  /** The first failed test and its error. */
  readonly failure?: string;
}
