import type { ComponentChildren } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';

interface WindowedListProps {
  readonly label: string;
  readonly count: number;
  /** The height of every row, in rem. */
  readonly rowHeight: number;
  readonly row: (index: number) => ComponentChildren;
  readonly rowKey: (index: number) => string | number;
  /** The index of the selected row; -1 for none. */
  readonly selected: number;
  readonly onSelect: (index: number) => void;
  /** While the end is visible, scrolls to it as rows are added. */
  readonly follows?: boolean;
}

/** Rows rendered above and below the visible ones. */
const spare = 6;

/**
 * A list that renders only the visible rows, so that ten thousand rows cost as much as twenty. The arrow
 * keys select among all rows.
 */
export function WindowedList(props: WindowedListProps) {
  const { count, rowHeight, selected, onSelect, follows = false } = props;
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const [rem, setRem] = useState(16);
  const [view, setView] = useState({ top: 0, height: 600 });
  const pixels = rowHeight * rem;

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const measure = (): void => {
      setRem(Number.parseFloat(getComputedStyle(document.documentElement).fontSize));
      setView({ top: element.scrollTop, height: element.clientHeight });
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  useLayoutEffect(() => {
    const element = box.current;
    if (element !== null && follows && isAtEnd.current) element.scrollTop = element.scrollHeight;
  }, [count, follows, pixels]);

  useEffect(() => {
    const element = box.current;
    if (element === null || selected < 0) return;
    const top = selected * pixels;
    if (top < element.scrollTop) element.scrollTop = top;
    const bottom = top + pixels - element.clientHeight;
    if (bottom > element.scrollTop) element.scrollTop = bottom;
  }, [selected, pixels]);

  const onScroll = (): void => {
    const element = box.current;
    if (element === null) return;
    isAtEnd.current = element.scrollTop + element.clientHeight >= element.scrollHeight - pixels;
    setView({ top: element.scrollTop, height: element.clientHeight });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const page = Math.max(1, Math.floor(view.height / pixels) - 1);
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -count,
      End: count,
    };
    const step = steps[event.key];
    if (step === undefined || count === 0) return;
    const next = Math.min(Math.max(selected + step, 0), count - 1);
    event.preventDefault();
    onSelect(next);
  };
  const first = Math.max(0, Math.floor(view.top / pixels) - spare);
  const last = Math.min(count, Math.ceil((view.top + view.height) / pixels) + spare);
  const rows = Array.from({ length: Math.max(0, last - first) }, (_, offset) => first + offset);
  return (
    <div
      class="windowed"
      role="listbox"
      aria-label={props.label}
      aria-activedescendant={selected >= 0 ? `${id}-${selected}` : undefined}
      tabIndex={0}
      ref={box}
      onScroll={onScroll}
      onKeyDown={onKeyDown}
    >
      <div class="windowed-all" style={{ height: `${count * pixels}px` }}>
        {rows.map((index) => (
          <div
            key={props.rowKey(index)}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === selected}
            aria-posinset={index + 1}
            aria-setsize={count}
            class="windowed-row"
            style={{ transform: `translateY(${index * pixels}px)`, height: `${pixels}px` }}
            onClick={() => onSelect(index)}
          >
            {props.row(index)}
          </div>
        ))}
      </div>
    </div>
  );
}
