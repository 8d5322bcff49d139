import { Button } from '../ui/button.tsx';
import { goTo, type ViewName } from './route.ts';

/** Back from one thing to the list of a view, where there is no room for both. */
export function Back({ view }: { readonly view: ViewName }) {
  return (
    <span class="only-narrow">
      <Button kind="quiet" icon="back" label="Back to the list" onClick={() => goTo({ view })} />
    </span>
  );
}
