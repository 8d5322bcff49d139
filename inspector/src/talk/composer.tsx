import { useRef, useState } from 'preact/hooks';
import { isImage, useObjectUrl } from '../parts/parts.tsx';
import { Button } from '../ui/button.tsx';
import { Pairs } from '../ui/field.tsx';
import { Icon } from '../ui/icon.tsx';
import { Problem } from '../ui/notice.tsx';
import { sizeOf } from '../ui/text.ts';
import {
  attach,
  type Attachment,
  type Draft,
  emptyDraft,
  isEmpty,
  joined,
  maxAttached,
  metadataOf,
  partsOf,
} from './draft.ts';
import type { TalkConversation } from './talk-conversation.ts';

/** The message editor: text, files, data and metadata. */
export function Composer({ talk }: { readonly talk: TalkConversation }) {
  const [draft, setDraft] = useState<Draft>(emptyDraft);
  const [isMore, setMore] = useState(false);
  const [problem, setProblem] = useState('');
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const isBusy = talk.isBusy.value;

  const send = (): void => {
    if (isEmpty(draft) || isBusy) return;
    try {
      const metadata = metadataOf(draft);
      const parts = partsOf(draft);
      void talk.say({ parts, ...(metadata !== undefined && { metadata }) }).then((isSent) => {
        if (!isSent) setDraft((newer) => joined(draft, newer));
      });
      setDraft({ ...emptyDraft, metadata: draft.metadata });
      setProblem('');
    } catch {
      setProblem('The data is not JSON.');
    }
    field.current?.focus();
  };
  const add = (files: Iterable<File>): void => {
    const chosen = [...files];
    const size = [
      ...draft.files.map(({ bytes }) => bytes.length),
      ...chosen.map((one) => one.size),
    ];
    if (size.reduce((sum, one) => sum + one, 0) > maxAttached) {
      setProblem('The files are too large to send: 7 MB in all.');
      return;
    }
    setProblem('');
    void Promise.all(chosen.map(attach)).then((made) => {
      setDraft((before) => ({ ...before, files: [...before.files, ...made] }));
    });
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        add(event.dataTransfer?.files ?? []);
      }}
    >
      <Problem text={problem} />
      <Attachments
        files={draft.files}
        onRemove={(index) => setDraft({ ...draft, files: draft.files.toSpliced(index, 1) })}
      />
      {isMore && (
        <div class="composer-more">
          <label class="field">
            <span>Data part, as JSON</span>
            <textarea
              class="input mono"
              rows={3}
              value={draft.json}
              spellcheck={false}
              placeholder={'{"slots": {"amount": 50}}'}
              onInput={(event) => setDraft({ ...draft, json: event.currentTarget.value })}
            />
          </label>
          <Pairs
            label="Metadata of the message"
            add="Add metadata"
            pairs={draft.metadata}
            onChange={(metadata) => setDraft({ ...draft, metadata })}
          />
        </div>
      )}
      <div class="composer-row">
        <textarea
          ref={field}
          class="input composer-text"
          data-slash
          rows={1}
          aria-label="Message"
          placeholder="Write a message"
          value={draft.text}
          onInput={(event) => setDraft({ ...draft, text: event.currentTarget.value })}
          onPaste={(event) => {
            const files = event.clipboardData?.files;
            if (files !== undefined && files.length > 0) add(files);
          }}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            send();
          }}
        />
        {isBusy ? (
          <Button
            kind="danger"
            icon="stop"
            label="Cancel the task"
            onClick={() => void talk.cancel()}
          />
        ) : (
          <Button kind="primary" icon="send" label="Send" type="submit" disabled={isEmpty(draft)} />
        )}
      </div>
      <div class="composer-tools">
        <input
          ref={picker}
          class="hidden-label"
          type="file"
          multiple
          tabIndex={-1}
          aria-label="Files to attach"
          onChange={(event) => {
            add(event.currentTarget.files ?? []);
            event.currentTarget.value = '';
          }}
        />
        <Button kind="quiet" icon="attach" onClick={() => picker.current?.click()}>
          Files
        </Button>
        <Button kind="quiet" icon="braces" expanded={isMore} onClick={() => setMore(!isMore)}>
          Data and metadata
        </Button>
      </div>
    </form>
  );
}

interface AttachmentsProps {
  readonly files: readonly Attachment[];
  readonly onRemove: (index: number) => void;
}

/** Previews of the attached files. */
function Attachments({ files, onRemove }: AttachmentsProps) {
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

function Thumbnail({ file: { bytes, mediaType } }: { readonly file: Attachment }) {
  const url = useObjectUrl(isImage(mediaType) ? bytes : undefined, mediaType);
  return url === undefined ? <Icon name="attach" /> : <img src={url} alt="" />;
}
