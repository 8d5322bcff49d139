import type { ComponentChildren } from 'preact';

interface TableProps {
  readonly heads: readonly string[];
  /** The rows. */
  readonly children: ComponentChildren;
}

export function Table({ heads, children }: TableProps) {
  return (
    <table class="table">
      <thead>
        <tr>
          {heads.map((head) => (
            <th key={head}>{head}</th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}
