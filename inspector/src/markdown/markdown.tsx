import { useMemo, useState } from 'preact/hooks';
import { Button } from '../ui/button.tsx';
import { elementsOf, type MarkdownDocument, readBlock, readDocument } from './elements.ts';

/** Maximum number of rendered blocks of one text. */
const shownAtOnce = 120;

/** Rendered characters of a growing text: rendering all of it with every chunk would be too slow. */
const shownOfGrowing = 3_000;

/** Rendered characters of one paragraph: laying out more would block the page. */
const shownOfBlock = 16_000;

interface MarkdownProps {
  readonly text: string;
  /** Whether more text is expected. @default false */
  readonly isGrowing?: boolean;
}

/**
 * Renders Markdown as elements, never as markup. While the text grows, earlier blocks stay unchanged, and
 * only the end of a long text is shown.
 */
export function Markdown({ text, isGrowing = false }: MarkdownProps) {
  const [isWhole, setWhole] = useState(false);
  if (isGrowing && text.length > shownOfGrowing) {
    return (
      <div class="markdown">
        <p class="faint">
          {text.length.toLocaleString()} characters so far; only the last part is shown.
        </p>
        <p>{text.slice(-shownOfGrowing)}</p>
      </div>
    );
  }
  const { blocks, links } = readDocument(text);
  const hidden = isWhole ? 0 : Math.max(0, blocks.length - shownAtOnce);
  const isCut = !isWhole && blocks.some((block) => block.length > shownOfBlock);
  return (
    <div class="markdown">
      {(hidden > 0 || isCut) && (
        <Button kind="quiet" onClick={() => setWhole(true)}>
          Show all {text.length.toLocaleString()} characters
        </Button>
      )}
      {blocks.slice(hidden).map((block, index) => (
        <Block
          key={hidden + index}
          source={isWhole ? block : block.slice(-shownOfBlock)}
          links={links}
        />
      ))}
    </div>
  );
}

interface BlockProps {
  readonly source: string;
  readonly links: MarkdownDocument['links'];
}

/** A block is parsed once: Preact doesn't compare the same elements again. */
function Block({ source, links }: BlockProps) {
  return useMemo(() => <>{elementsOf(readBlock(source, links))}</>, [source]);
}
