/** @example counted(1, 'warning') // '1 warning' */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
