import type { Part } from '../../../src/protocol/index.ts';
import { Markdown } from '../markdown/markdown.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { FilePart } from './file-part.tsx';

interface PartListProps {
  readonly parts: readonly Part[];
  /** Joins consecutive texts, such as the chunks of an artifact. @default false */
  readonly isStream?: boolean;
  /** Whether more parts may arrive. @default false */
  readonly isGrowing?: boolean;
}

/** The parts of a message or an artifact, rendered by kind. */
export function PartList({ parts, isStream = false, isGrowing = false }: PartListProps) {
  return (
    <>
      {(isStream ? joined(parts) : wordsFirst(parts)).map((part, index) => (
        <OnePart key={index} part={part} isGrowing={isGrowing} />
      ))}
    </>
  );
}

function OnePart({ part, isGrowing }: { readonly part: Part; readonly isGrowing: boolean }) {
  if (part.text !== undefined) return <Markdown text={part.text} isGrowing={isGrowing} />;
  if (part.data !== undefined) return <DataPart value={part.data} />;
  return <FilePart part={part} />;
}

function DataPart({ value }: { readonly value: unknown }) {
  return (
    <details class="data-part">
      <summary>{summaryOf(value)}</summary>
      <JsonView value={value} />
    </details>
  );
}

/** A short description of a data object, if it has one. */
function summaryOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return `data: ${JSON.stringify(value)}`;
  if (Array.isArray(value)) return `data: list of ${value.length}`;
  const { state, active_flow: flow } = value as { state?: unknown; active_flow?: unknown };
  if (typeof state === 'string') {
    return typeof flow === 'string' ? `data: ${state}, ${flow}` : `data: ${state}`;
  }
  const names = Object.keys(value);
  const shown = names.slice(0, 4).join(', ');
  return `data: ${shown}${names.length > 4 ? ', …' : ''}`;
}

/** An assistant's message starts with the conversation state, which is for programs. */
function wordsFirst(parts: readonly Part[]): readonly Part[] {
  const [first, ...rest] = parts;
  const isState = first?.data !== undefined && rest.some(({ text }) => text !== undefined);
  return isState ? [...rest, first] : parts;
}

/** Joins the chunks of a stream, which are separate parts. */
function joined(parts: readonly Part[]): readonly Part[] {
  const whole: Part[] = [];
  let texts: string[] = [];
  const flush = (): void => {
    if (texts.length > 0) whole.push({ text: texts.join('') });
    texts = [];
  };
  for (const part of parts) {
    if (part.text !== undefined && part.metadata === undefined) texts.push(part.text);
    else {
      flush();
      whole.push(part);
    }
  }
  flush();
  return whole;
}
