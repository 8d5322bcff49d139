import type { ComponentChildren } from 'preact';
import { Button } from '../ui/button.tsx';
import { isWide } from '../ui/split.tsx';
import { goTo, route, type ViewName } from './route.ts';

interface PairViewProps {
  readonly title: string;
  /** Beside the title. */
  readonly extra?: ComponentChildren;
  readonly list: ComponentChildren;
  /** The accessible name of the detail. */
  readonly detailLabel: string;
  readonly detail: ComponentChildren;
}

/** A list and the detail of the selected item: side by side, or one at a time on narrow screens. */
export function PairView({ title, extra, list, detailLabel, detail }: PairViewProps) {
  const hasChoice = route.value.id !== undefined;
  const isListHidden = hasChoice && !isWide.value;
  return (
    <div class={hasChoice ? 'pair-view has-choice' : 'pair-view'}>
      <section class="pair-list" aria-label={title}>
        <div class="view-bar">
          {!isListHidden && <h1>{title}</h1>}
          {extra}
        </div>
        {list}
      </section>
      <section class="pair-detail" aria-label={detailLabel}>
        {isListHidden && <h1 class="hidden-label">{title}</h1>}
        {detail}
      </section>
    </div>
  );
}

/** Back to the list of a view, on narrow screens. */
export function Back({ view }: { readonly view: ViewName }) {
  return (
    <span class="only-narrow">
      <Button kind="quiet" icon="back" label="Back to the list" onClick={() => goTo({ view })} />
    </span>
  );
}
