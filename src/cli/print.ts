/** Prints a result: its facts as a line of JSON, or its text. */
export function printResult(
  facts: object,
  text: string,
  { json = false }: { readonly json?: boolean },
): void {
  console.log(json ? JSON.stringify(facts) : text);
}

/** As `printResult`, with JSON over several lines, for a result that is the only one. */
export function printReport(
  facts: object,
  text: string,
  { json = false }: { readonly json?: boolean },
): void {
  console.log(json ? JSON.stringify(facts, undefined, 2) : text);
}

/** Rows of cells as lines with aligned columns. */
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

/** Text that others wrote, on one line and without control sequences. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ');
}
