/**
 * Property tests draw the same cases in every run, so that a change never fails for a case that it did not
 * bring about. `PROPERTY_SEED=random npx vitest run` looks for new ones, `PROPERTY_SEED=1203022839` repeats.
 */
import * as fc from 'fast-check';

const { PROPERTY_SEED: seed = '20261116' } = process.env;
fc.configureGlobal(seed === 'random' ? {} : { seed: Number(seed) });
