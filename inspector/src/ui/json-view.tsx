import { shortened } from '../../../src/protocol/index.ts';
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

function Value({ value, open }: Required<JsonViewProps>) {
  if (typeof value === 'object' && value !== null) return <Members value={value} open={open} />;
  if (typeof value === 'string') return <Text value={value} />;
  if (value === null || value === undefined) return <span class="json-none">{String(value)}</span>;
  return <span class="json-other">{JSON.stringify(value)}</span>;
}

const base64 = /^[\w+/-]{200,}={0,2}$/;
/** Characters shown of a collapsed text; base64 shows only enough to distinguish values. */
const shownOfBytes = 48;
const shownOfText = 4_000;

/** A text; collapsed if it is long or base64. */
function Text({ value }: { readonly value: string }) {
  const [isOpen, setOpen] = useState(false);
  const length = base64.test(value) ? shownOfBytes : shownOfText;
  if (value.length <= length) return <span class="json-text">{JSON.stringify(value)}</span>;
  return (
    <button type="button" class="json-fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
      <span class="json-text">{JSON.stringify(isOpen ? value : shortened(value, length))}</span>
      {!isOpen && <span class="json-count"> {value.length.toLocaleString()} characters</span>}
    </button>
  );
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
  return ` ${shortened(entries.map(([key]) => key).join(', '), 48)} `;
}
