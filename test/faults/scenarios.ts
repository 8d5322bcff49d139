import { assistantSoak } from './assistant-soak.ts';
import { brokerFaults } from './bus/broker.ts';
import { busFuzz } from './bus/fuzz.ts';
import { clockSkew } from './clock-skew.ts';
import { frozenDatabase, halfOpen, slowDatabase } from './databases.ts';
import { diskFull } from './disk-full.ts';
import { pooler } from './pooler.ts';
import { noContextId, replicas } from './replicas.ts';
import { rollingRestart } from './rolling-restart.ts';
import type { Scenario } from './scenario.ts';

/** Every scenario by the name that `npm run faults -- --only` takes. None needs special rights. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  replicas,
  'no-context-id': noContextId,
  'clock-skew': clockSkew,
  'frozen-database': frozenDatabase,
  'slow-database': slowDatabase,
  'half-open': halfOpen,
  pooler,
  'disk-full': diskFull,
  'rolling-restart': rollingRestart,
  broker: brokerFaults,
  'bus-fuzz': busFuzz,
  'assistant-soak': assistantSoak,
};
