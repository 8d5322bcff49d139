import { useId, useRef } from 'preact/hooks';
import type { ComponentChildren } from 'preact';

export interface Tab<Name extends string> {
  readonly name: Name;
  readonly title: string;
  /** A count beside the title. */
  readonly count?: number;
}

interface TabsProps<Name extends string> {
  readonly label: string;
  readonly tabs: readonly Tab<Name>[];
  readonly current: Name;
  readonly onChange: (name: Name) => void;
  readonly children: ComponentChildren;
}

const steps: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowLeft: -1 };

/** Tabs with their panels; arrow keys switch between them. */
export function Tabs<Name extends string>(props: TabsProps<Name>) {
  const { tabs, current, onChange } = props;
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const at = tabs.findIndex(({ name }) => name === current);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (next === undefined) return;
    onChange(next.name);
    list.current?.querySelector<HTMLElement>(`[data-name="${next.name}"]`)?.focus();
  };
  return (
    <div class="tabs">
      <div class="tab-bar">
        <div
          class="tab-list"
          role="tablist"
          aria-label={props.label}
          ref={list}
          onKeyDown={onKeyDown}
        >
          {tabs.map(({ name, title, count }) => (
            <button
              key={name}
              type="button"
              role="tab"
              class="tab"
              data-name={name}
              id={`${id}-${name}`}
              aria-selected={name === current}
              aria-controls={`${id}-panel`}
              tabIndex={name === current ? 0 : -1}
              onClick={() => onChange(name)}
            >
              {title}
              {count !== undefined && count > 0 && <span class="tab-count">{count}</span>}
            </button>
          ))}
        </div>
      </div>
      <div
        class="tab-panel"
        role="tabpanel"
        // Scrolled by keyboard where nothing in it takes the focus.
        tabIndex={0}
        id={`${id}-panel`}
        aria-labelledby={`${id}-${current}`}
      >
        {props.children}
      </div>
    </div>
  );
}
