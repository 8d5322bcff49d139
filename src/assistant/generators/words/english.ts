import { readLanguage } from './language.ts';

/** British and American English. */
export const english = readLanguage('english.yml');
