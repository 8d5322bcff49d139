/** The yearly interest rate, as a share of the amount. */
const interest = 0.04;

/** The monthly payment of a loan, in euros. */
export function monthlyRate(amount: number, months: number): number {
  return Math.round((amount * (1 + (interest * months) / 12) * 100) / months) / 100;
}
