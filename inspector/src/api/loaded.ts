import { useEffect, useState } from 'preact/hooks';
import type { LiveNotice } from '../../../src/http/inspector/model.ts';
import { get, reasonOf } from './api.ts';
import { onNotice } from './live.ts';

export interface Loaded<T> {
  readonly value: T | undefined;
  readonly problem: string;
  readonly reload: () => void;
}

/** The result of `load`, reloaded when one of `keys` changes; the previous value stays meanwhile. */
export function useLoaded<T>(
  load: (signal: AbortSignal) => Promise<T>,
  keys: readonly unknown[],
): Loaded<T> {
  const [state, setState] = useState<{ value: T | undefined; problem: string }>({
    value: undefined,
    problem: '',
  });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const controller = new AbortController();
    load(controller.signal).then(
      (value) => {
        if (!controller.signal.aborted) setState({ value, problem: '' });
      },
      (error: unknown) => {
        if (controller.signal.aborted) return;
        const problem = reasonOf(error, 'it could not be loaded');
        setState(({ value }) => ({ value, problem }));
      },
    );
    return () => controller.abort();
  }, [...keys, round]);
  return { ...state, reload: () => setRound((before) => before + 1) };
}

/**
 * The inspector API's value at a path, reloaded after every relevant notice; nothing while the path
 * is undefined.
 */
export function useLive<T>(
  path: string | undefined,
  concerns: (notice: LiveNotice) => boolean,
): Loaded<T> {
  const { value, problem, reload } = useLoaded(
    async (signal) => (path === undefined ? undefined : get<T>(path, signal)),
    [path],
  );
  useEffect(
    () =>
      onNotice((notice) => {
        if (concerns(notice)) reload();
      }),
    [path],
  );
  return { value, problem, reload };
}

/** Runs a request, and shows why it failed until the next one. */
export function useAction(): readonly [
  refusal: string,
  act: (asked: Promise<unknown>, onDone: () => void) => void,
] {
  const [refusal, setRefusal] = useState('');
  const act = (asked: Promise<unknown>, onDone: () => void): void => {
    asked.then(
      () => {
        setRefusal('');
        onDone();
      },
      (error: unknown) => setRefusal(reasonOf(error)),
    );
  };
  return [refusal, act];
}
