import { signal, type Signal } from '@preact/signals';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { LiveNotice } from '../../../src/http/inspector/model.ts';
import { get, reasonOf } from './api.ts';
import { onNotice } from './live.ts';

/** A value that is loaded and reloaded; the previous value is kept during a load. */
export class Resource<T> {
  readonly value: Signal<T | undefined> = signal(undefined);
  /** Why the last load failed; empty if it didn't. */
  readonly problem: Signal<string> = signal('');
  #loads = 0;

  async load(load: () => Promise<T>): Promise<void> {
    this.#loads += 1;
    const mine = this.#loads;
    try {
      const value = await load();
      // A later load has started in the meantime, possibly with another query.
      if (mine !== this.#loads) return;
      this.value.value = value;
      this.problem.value = '';
    } catch (error) {
      if (mine === this.#loads) this.problem.value = reasonOf(error);
    }
  }
}

export interface Loaded<T> {
  readonly value: T | undefined;
  readonly problem: string;
  readonly reload: () => void;
}

/** The result of `load`, reloaded when one of `keys` changes. */
export function useLoaded<T>(load: () => Promise<T>, keys: readonly unknown[]): Loaded<T> {
  const resource = useMemo(() => new Resource<T>(), []);
  const reload = (): void => void resource.load(load);
  useEffect(reload, keys);
  return { value: resource.value.value, problem: resource.problem.value, reload };
}

/**
 * The inspector API's value at a path, reloaded after every relevant notice; nothing while the path
 * is undefined.
 */
export function useLive<T>(
  path: string | undefined,
  isRelevant: (notice: LiveNotice) => boolean,
): Loaded<T> {
  const { value, problem, reload } = useLoaded(
    async () => (path === undefined ? undefined : get<T>(path)),
    [path],
  );
  useEffect(
    () =>
      onNotice((notice) => {
        if (isRelevant(notice)) reload();
      }),
    [path],
  );
  return { value, problem, reload };
}

/** Runs a request, and shows why it failed until the next one. */
export function useAction(): readonly [
  problem: string,
  act: (request: Promise<unknown>, onDone: () => void) => void,
] {
  const [problem, setProblem] = useState('');
  const act = (request: Promise<unknown>, onDone: () => void): void => {
    request.then(
      () => {
        setProblem('');
        onDone();
      },
      (error: unknown) => setProblem(reasonOf(error)),
    );
  };
  return [problem, act];
}
