import { useEffect, useState } from 'preact/hooks';
import { reasonOf } from './reason.ts';

export interface Loaded<T> {
  readonly value: T | undefined;
  readonly problem: string;
  readonly reload: () => void;
}

/** What `load` gives, loaded anew when one of `keys` changes; the former value stays meanwhile. */
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
