/**
 * The spelling by which names of agents and skills are compared: in any case, and with accents as letters
 * of their own or combined.
 */
export function foldName(name: string): string {
  return name.normalize('NFC').toLowerCase();
}
