import { useState } from 'preact/hooks';

interface JsonViewProps {
  readonly value: unknown;
  /** Levels expanded initially. @default 2 */
  readonly open?: number;
}

/** Members shown at once. */
const shownAtOnce = 100;

/** Any JSON as an expandable tree. Renders only expanded nodes. */
export function JsonView({ value, open = 2 }: JsonViewProps) {
  return (
    <div class="json">
      <Value value={value} open={open} />
    </div>
  );
}

function Value({ value, open }: { readonly value: unknown; readonly open: number }) {
  if (typeof value === 'object' && value !== null) return <Members value={value} open={open} />;
  if (typeof value === 'string')
    return <span class="json-text">{JSON.stringify(shortened(value))}</span>;
  if (value === null || value === undefined) return <span class="json-none">{String(value)}</span>;
  return <span class="json-other">{JSON.stringify(value)}</span>;
}

function Members({ value, open }: { readonly value: object; readonly open: number }) {
  const [isOpen, setOpen] = useState(open > 0);
  const [limit, setLimit] = useState(shownAtOnce);
  const isList = Array.isArray(value);
  const entries = Object.entries(value);
  const [start, end] = isList ? ['[', ']'] : ['{', '}'];
  if (entries.length === 0) return <span class="json-none">{start + end}</span>;
  return (
    <>
      <button
        type="button"
        class="json-fold"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {start}
        {!isOpen && <span class="json-count">{summary(entries, isList)}</span>}
        {!isOpen && end}
      </button>
      {isOpen && (
        <>
          <div class="json-members">
            {entries.slice(0, limit).map(([key, member]) => (
              <div key={key} class="json-member">
                {!isList && <span class="json-key">{key}: </span>}
                <Value value={member} open={open - 1} />
              </div>
            ))}
            {entries.length > limit && (
              <button type="button" class="json-more" onClick={() => setLimit(limit * 10)}>
                {entries.length - limit} more
              </button>
            )}
          </div>
          <span>{end}</span>
        </>
      )}
    </>
  );
}

function summary(entries: readonly [string, unknown][], isList: boolean): string {
  if (isList) return ` ${entries.length} `;
  const names = entries.map(([key]) => key).join(', ');
  return ` ${names.length > 48 ? `${names.slice(0, 48)}…` : names} `;
}

function shortened(text: string): string {
  return text.length > 4_000 ? `${text.slice(0, 4_000)}… (${text.length} characters)` : text;
}
