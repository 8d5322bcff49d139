import { useEffect, useState } from 'preact/hooks';
import { Button } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { sizeOf } from '../ui/time.ts';
import type { Attachment } from './draft.ts';

interface AttachmentsProps {
  readonly files: readonly Attachment[];
  readonly onRemove: (index: number) => void;
}

/** Previews of the attached files. */
export function Attachments({ files, onRemove }: AttachmentsProps) {
  if (files.length === 0) return null;
  return (
    <ul class="attachments" aria-label="Attached files">
      {files.map((file, index) => (
        <li key={`${file.name} ${index}`} class="attachment">
          <Thumbnail file={file} />
          <span class="attachment-name">{file.name}</span>
          <span class="faint">{sizeOf(file.bytes.length)}</span>
          <Button
            kind="quiet"
            icon="close"
            label={`Remove ${file.name}`}
            onClick={() => onRemove(index)}
          />
        </li>
      ))}
    </ul>
  );
}

function Thumbnail({ file }: { readonly file: Attachment }) {
  const [url, setUrl] = useState('');
  useEffect(() => {
    if (!/^image\/(?:png|jpeg|gif|webp)$/.test(file.mediaType)) return undefined;
    const made = URL.createObjectURL(
      new Blob([new Uint8Array(file.bytes)], { type: file.mediaType }),
    );
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [file]);
  return url === '' ? <Icon name="attach" /> : <img src={url} alt="" />;
}
