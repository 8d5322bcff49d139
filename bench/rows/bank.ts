import { measureBankTurns } from '../bank-turns.ts';
import { atMost, type Row } from '../row.ts';

/** A turn of the bank example on SQLite, with the generator that needs no model. */
export const bank: Row = {
  name: 'bank',
  title: 'a turn of the bank example, SQLite',
  async run() {
    const { cpuMs, growth } = await measureBankTurns();
    return {
      verdicts: [
        atMost('CPU of a turn, commit included', cpuMs, 1.3, 'ms'),
        atMost('turn 1,000, of turn 10', growth, 1.5, 'x'),
      ],
    };
  },
};
