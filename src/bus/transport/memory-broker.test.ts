import { describeBus } from './bus.contract.ts';
import { openBus } from './open-bus.ts';

describeBus('the bus in memory', async () => ({
  open: (options) => openBus({ type: 'memory', ...options }),
}));
