import { useEffect, useState } from 'preact/hooks';
import type { Part } from '../../../src/protocol/index.ts';
import { safeUrl } from '../markdown/safe-url.ts';
import { Icon } from '../ui/icon.tsx';
import { sizeOf } from '../ui/time.ts';

/** Image types that are shown; other files are offered as downloads. */
const shown = /^image\/(?:png|jpeg|gif|webp|avif)$/;

/**
 * A file with its bytes, shown if it is an image, or with its URL. A URL is only linked: the page
 * itself loads nothing from other servers.
 */
export function FilePart({ part }: { readonly part: Part }) {
  const { raw, url, filename, mediaType = 'application/octet-stream' } = part;
  const local = useObjectUrl(raw, mediaType);
  const href = local?.url ?? (url === undefined ? undefined : safeUrl(url));
  const name = filename ?? url?.split('/').pop() ?? 'file';
  return (
    <figure class="file-part">
      {local !== undefined && shown.test(mediaType) && <img src={local.url} alt={name} />}
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
          {local !== undefined && ` · ${sizeOf(local.size)}`}
        </span>
      </figcaption>
    </figure>
  );
}

function useObjectUrl(
  raw: string | undefined,
  mediaType: string,
): { readonly url: string; readonly size: number } | undefined {
  const [made, setMade] = useState<{ url: string; size: number } | undefined>(undefined);
  useEffect(() => {
    const bytes = raw === undefined ? undefined : bytesOf(raw);
    if (bytes === undefined) return undefined;
    // The browser must not render any other type as a page.
    const type = shown.test(mediaType) ? mediaType : 'application/octet-stream';
    const url = URL.createObjectURL(new Blob([bytes], { type }));
    setMade({ url, size: bytes.length });
    return () => URL.revokeObjectURL(url);
  }, [raw, mediaType]);
  return made;
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.codePointAt(0) ?? 0);
  } catch {
    return undefined;
  }
}
