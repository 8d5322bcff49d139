import { Component } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from '../ui/button.tsx';
import { parseBlocks, splitBlocks } from './blocks.ts';
import type { Block, Inline } from './tree.ts';

/** Blocks of one text that are in the page at once. */
const shownAtOnce = 120;

/** Characters shown of a text that is still growing: drawing all of it again and again would be too much. */
const shownOfGrowing = 3_000;

/** Characters of one paragraph that are in the page at once: to lay out more holds up the page. */
const shownOfBlock = 16_000;

interface MarkdownProps {
  readonly text: string;
  /** More of it is about to come. @default false */
  readonly isGrowing?: boolean;
}

/**
 * A text with markdown in it, as elements and never as markup. While the text grows, the blocks that
 * came before stay as they are, and of a long one only the end is shown.
 */
export function Markdown({ text, isGrowing = false }: MarkdownProps) {
  const [isWhole, setWhole] = useState(false);
  if (isGrowing && text.length > shownOfGrowing) {
    return (
      <div class="markdown">
        <p class="faint">
          {text.length.toLocaleString()} characters so far; this is the end of it.
        </p>
        <p>{text.slice(-shownOfGrowing)}</p>
      </div>
    );
  }
  const blocks = splitBlocks(text);
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
        <BlockText key={hidden + index} text={isWhole ? block : block.slice(-shownOfBlock)} />
      ))}
    </div>
  );
}

class BlockText extends Component<{ readonly text: string }> {
  override shouldComponentUpdate(next: { readonly text: string }): boolean {
    return next.text !== this.props.text;
  }

  override render() {
    return <Blocks blocks={parseBlocks(this.props.text)} />;
  }
}

function Blocks({ blocks }: { readonly blocks: readonly Block[] }) {
  return (
    <>
      {blocks.map((block, index) => (
        <OneBlock key={index} block={block} />
      ))}
    </>
  );
}

function OneBlock({ block }: { readonly block: Block }) {
  switch (block.kind) {
    case 'paragraph':
      return (
        <p>
          <Inlines content={block.content} />
        </p>
      );
    case 'heading':
      return (
        <p class={`heading level-${block.level}`} role="heading" aria-level={block.level + 2}>
          <Inlines content={block.content} />
        </p>
      );
    case 'code':
      return (
        <pre tabIndex={0} aria-label={block.language === '' ? 'code' : block.language}>
          <code>{block.text}</code>
        </pre>
      );
    case 'quote':
      return (
        <blockquote>
          <Blocks blocks={block.blocks} />
        </blockquote>
      );
    case 'list': {
      const items = block.items.map((item, index) => (
        <li key={index}>
          <Blocks blocks={item} />
        </li>
      ));
      return block.start === undefined ? <ul>{items}</ul> : <ol start={block.start}>{items}</ol>;
    }
    case 'table':
      return <Table head={block.head} rows={block.rows} />;
    case 'rule':
      return <hr />;
  }
}

function Table({ head, rows }: Pick<Extract<Block, { kind: 'table' }>, 'head' | 'rows'>) {
  return (
    <div class="markdown-table" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {head.map((cell, index) => (
              <th key={index}>
                <Inlines content={cell} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column}>
                  <Inlines content={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Inlines({ content }: { readonly content: readonly Inline[] }) {
  return (
    <>
      {content.map((inline, index) => (
        <OneInline key={index} inline={inline} />
      ))}
    </>
  );
}

function OneInline({ inline }: { readonly inline: Inline }) {
  switch (inline.kind) {
    case 'text':
      return <>{inline.text}</>;
    case 'code':
      return <code>{inline.text}</code>;
    case 'break':
      return <br />;
    case 'strong':
      return (
        <strong>
          <Inlines content={inline.content} />
        </strong>
      );
    case 'emphasis':
      return (
        <em>
          <Inlines content={inline.content} />
        </em>
      );
    case 'strike':
      return (
        <del>
          <Inlines content={inline.content} />
        </del>
      );
    case 'link':
      return (
        <a href={inline.url} target="_blank" rel="noopener noreferrer">
          <Inlines content={inline.content} />
        </a>
      );
  }
}
