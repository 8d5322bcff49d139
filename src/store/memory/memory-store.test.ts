import { describeReplicas, describeStore } from '../store.contract.ts';
import { openMemory, openMemoryReplicas } from './memory-store.ts';

describeStore('memory', () => {
  let now = 1_000;
  const store = openMemory({ clock: { now: () => now } });
  return { store, setTime: (time) => void (now = time) };
});
describeReplicas('memory', () => {
  const [first, second] = openMemoryReplicas(2);
  if (first === undefined || second === undefined) throw new Error('two stores were expected');
  return [first, second];
});
