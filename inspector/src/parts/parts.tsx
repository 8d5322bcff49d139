import { useEffect, useMemo, useState } from 'preact/hooks';
import { isJsonObject, type JsonValue, type Part } from '../../../src/protocol/index.ts';
import { safeUrl } from '../markdown/safe-url.ts';
import { Icon } from '../ui/icon.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { lazy } from '../ui/lazy.tsx';
import { sizeOf } from '../ui/text.ts';

/** Shows the text until the Markdown parser is loaded. */
const Markdown = lazy(
  async () => (await import('../markdown/markdown.tsx')).Markdown,
  ({ text }) => (
    <div class="markdown">
      <p>{text}</p>
    </div>
  ),
);

interface PartListProps {
  readonly parts: readonly Part[];
  /** Whether more parts can arrive. @default false */
  readonly isGrowing?: boolean;
}

/** The parts of a message or an artifact, rendered by kind. */
export function PartList({ parts, isGrowing = false }: PartListProps) {
  return (
    <>
      {textFirst(parts).map((part, index) => {
        if (part.text !== undefined) {
          return <Markdown key={index} text={part.text} isGrowing={isGrowing} />;
        }
        if (part.data === undefined) return <FilePart key={index} part={part} />;
        return (
          <details key={index} class="data-part">
            <summary>data: {summaryOf(part.data)}</summary>
            <JsonView value={part.data} />
          </details>
        );
      })}
    </>
  );
}

/**
 * An assistant's message starts with the conversation state, which is for programs: it is moved to the
 * end.
 */
function textFirst(parts: readonly Part[]): readonly Part[] {
  const [first, ...rest] = parts;
  const isState = first?.data !== undefined && rest.some(({ text }) => text !== undefined);
  return isState ? [...rest, first] : parts;
}

function summaryOf(value: JsonValue): string {
  if (Array.isArray(value)) return `list of ${value.length}`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const { state, active_flow: flow } = value;
  if (typeof state === 'string') return typeof flow === 'string' ? `${state}, ${flow}` : state;
  const names = Object.keys(value);
  return `${names.slice(0, 4).join(', ')}${names.length > 4 ? ', …' : ''}`;
}

/** Image types that are shown; other files are offered as downloads. */
const shown = /^image\/(?:png|jpeg|gif|webp|avif)$/;

/**
 * A file: with its bytes, shown if it is an image, or with its URL. A URL is only linked: the page itself
 * loads nothing from other servers.
 */
function FilePart({ part }: { readonly part: Part }) {
  const { raw, url, filename, mediaType = 'application/octet-stream' } = part;
  const bytes = useMemo(() => (raw === undefined ? undefined : bytesOf(raw)), [raw]);
  const local = useObjectUrl(bytes, mediaType);
  const href = local ?? (url === undefined ? undefined : safeUrl(url));
  const name = filename ?? url?.split('/').pop() ?? 'file';
  return (
    <figure class="file-part">
      {local !== undefined && isImage(mediaType) && <img src={local} alt={name} />}
      <figcaption>
        <Icon name="attach" />
        {href === undefined ? (
          <span>{name}</span>
        ) : (
          <a href={href} target="_blank" rel="noopener noreferrer" download={filename}>
            {name}
          </a>
        )}
        <span class="faint">
          {mediaType}
          {bytes !== undefined && ` · ${sizeOf(bytes.length)}`}
        </span>
      </figcaption>
    </figure>
  );
}

export function isImage(mediaType: string): boolean {
  return shown.test(mediaType);
}

/** A URL of these bytes within the page, while the component is shown. */
export function useObjectUrl(bytes: Uint8Array | undefined, mediaType: string): string | undefined {
  const [made, setMade] = useState<string | undefined>(undefined);
  useEffect(() => {
    if (bytes === undefined) return undefined;
    // The browser must not render any other type as a page.
    const type = isImage(mediaType) ? mediaType : 'application/octet-stream';
    const url = URL.createObjectURL(new Blob([new Uint8Array(bytes)], { type }));
    setMade(url);
    return () => URL.revokeObjectURL(url);
  }, [bytes, mediaType]);
  return made;
}

function bytesOf(base64: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.codePointAt(0) ?? 0);
  } catch {
    return undefined;
  }
}
