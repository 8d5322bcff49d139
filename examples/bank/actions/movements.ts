export interface Movement {
  /** `2026-11-02` */
  readonly day: string;
  readonly text: string;
  readonly amount: number;
}

/** Monthly movements, by the day of the month. */
const monthly: readonly (readonly [day: string, text: string, amount: number])[] = [
  ['01', 'Rent', -780],
  ['05', 'Harbour Tramways', -49.5],
  ['12', 'Market square greengrocer', -31.2],
  ['28', 'Salary', 2450],
];

/** The movements between two days, including both; at most two years. */
export async function* movementsBetween(from: string, to: string): AsyncGenerator<Movement> {
  const month = new Date(`${from.slice(0, 7)}-01T00:00:00Z`);
  if (Number.isNaN(month.getTime())) return;
  for (let count = 0; count < 24; count += 1) {
    const prefix = month.toISOString().slice(0, 8);
    for (const [day, text, amount] of monthly) {
      const date = prefix + day;
      if (date >= from && date <= to) yield { day: date, text, amount };
    }
    month.setUTCMonth(month.getUTCMonth() + 1);
  }
}
