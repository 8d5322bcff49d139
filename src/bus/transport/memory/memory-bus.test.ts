import { describeBus } from '../bus.contract.ts';
import { MemoryBus } from './memory-bus.ts';

describeBus('the bus in memory', async () => ({ open: async (options) => new MemoryBus(options) }));
