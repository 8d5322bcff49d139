import { type Language, readLanguage } from './language.ts';

/** British and American English. */
export const english = readLanguage('english.yml');

/** The files of the languages beside English, by code. A further language is a further file. */
const files: Readonly<Record<string, string>> = { de: 'german.yml' };
const read = new Map<string, Language>();

/** The language of a code such as `de` or `de-AT`; English for those that have no file. */
export function languageFor(code: string | undefined): Language {
  const short = (code ?? 'en').toLowerCase().slice(0, 2);
  const file = files[short];
  if (file === undefined) return english;
  const known = read.get(short) ?? readLanguage(file);
  read.set(short, known);
  return known;
}
