import { Button } from '../ui/button.tsx';
import { goTo, type ViewName } from './route.ts';

/** Back to the list of a view, on narrow screens. */
export function Back({ view }: { readonly view: ViewName }) {
  return (
    <span class="only-narrow">
      <Button kind="quiet" icon="back" label="Back to the list" onClick={() => goTo({ view })} />
    </span>
  );
}
