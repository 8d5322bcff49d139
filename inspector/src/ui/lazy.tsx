import { signal } from '@preact/signals';
import type { FunctionComponent } from 'preact';
import { reasonOf } from '../api/api.ts';
import { Problem } from './notice.tsx';

/**
 * A component that is loaded when it is first shown, so that the page starts small. `Placeholder` is
 * shown until then.
 */
export function lazy<Props extends object>(
  load: () => Promise<FunctionComponent<Props>>,
  Placeholder?: FunctionComponent<Props>,
): FunctionComponent<Props> {
  const loaded = signal<FunctionComponent<Props> | undefined>(undefined);
  const problem = signal('');
  let isLoading = false;
  const start = async (): Promise<void> => {
    isLoading = true;
    try {
      const component = await load();
      loaded.value = component;
    } catch (error) {
      // The next render tries again: the server can have restarted with another build.
      isLoading = false;
      problem.value = `${reasonOf(error)} Reload the page.`;
    }
  };
  return function Lazy(props) {
    const Component = loaded.value;
    if (Component !== undefined) return <Component {...props} />;
    if (!isLoading) void start();
    return Placeholder === undefined ? (
      <Problem text={problem.value} />
    ) : (
      <Placeholder {...props} />
    );
  };
}
