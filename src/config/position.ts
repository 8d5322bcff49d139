/** Where something stands in a file; lines and columns count from 1. */
export interface Position {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** The way to a value in a document: keys of mappings and indexes of lists. */
export type Path = readonly (string | number)[];

/** A position and the path that leads there, as text: `flows.order.steps[2].next`. */
export interface Place {
  readonly position: Position;
  readonly path: string;
}

export function formatPath(path: Path): string {
  let text = '';
  for (const key of path) {
    if (typeof key === 'number') text += `[${key}]`;
    else if (!/^[\p{L}\p{N}_-]+$/u.test(key)) text += `[${JSON.stringify(key)}]`;
    else text += text === '' ? key : `.${key}`;
  }
  return text;
}
