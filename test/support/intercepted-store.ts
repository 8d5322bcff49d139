import type { Store } from '../../src/store/index.ts';

/** Ways around a store's methods: each gets the call's input and the way on. */
export type Interceptors = {
  [K in keyof Store]?: Store[K] extends (...input: infer Input) => infer Output
    ? (go: () => Output, ...input: Input) => Output
    : never;
};

/**
 * A store with an interceptor, for tests: calls can be observed, delayed and made to fail.
 * @example const slow = intercepted(store, { load: async (go) => { await gate; return go(); } });
 */
export function intercepted(store: Store, interceptors: Interceptors): Store {
  return new Proxy(store, {
    get(target, name: keyof Store) {
      const member: unknown = target[name];
      if (typeof member !== 'function') return member;
      const method = member.bind(target) as (...input: unknown[]) => unknown;
      const intercept = interceptors[name] as
        | ((go: () => unknown, ...input: unknown[]) => unknown)
        | undefined;
      if (intercept === undefined) return method;
      return (...input: unknown[]) => intercept(() => method(...input), ...input);
    },
  });
}
