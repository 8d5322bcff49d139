/** Prints a result as one line of JSON, or as text. */
export function printResult(
  facts: object,
  text: string,
  { json = false }: { readonly json?: boolean },
): void {
  console.log(json ? JSON.stringify(facts) : text);
}

/** Like `printResult`, with indented JSON, for the only result of a command. */
export function printReport(
  facts: object,
  text: string,
  { json = false }: { readonly json?: boolean },
): void {
  console.log(json ? JSON.stringify(facts, undefined, 2) : text);
}

/** Formats rows of cells as lines with aligned columns. */
export function alignColumns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths: number[] = [];
  for (const row of rows)
    row.forEach((cell, column) => (widths[column] = Math.max(widths[column] ?? 0, cell.length)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** Joins untrusted text to one line and removes control characters. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ');
}
