import { AsyncLocalStorage } from 'node:async_hooks';
import { type Context, type ContextManager, ROOT_CONTEXT } from '@opentelemetry/api';

/** Follows the active span through whatever is awaited. */
export function asyncContextManager(): ContextManager {
  const storage = new AsyncLocalStorage<Context>();
  const manager: ContextManager = {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (context, work, thisArg, ...args) =>
      storage.run(context, () => work.call(thisArg as never, ...args)),
    bind<T>(context: Context, target: T): T {
      if (typeof target !== 'function') return target;
      const call = target as unknown as (...args: unknown[]) => unknown;
      return ((...args: unknown[]) => storage.run(context, () => call(...args))) as T;
    },
    enable: () => manager,
    disable() {
      storage.disable();
      return manager;
    },
  };
  return manager;
}
