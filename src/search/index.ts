export { rank, SearchIndex } from './search-index.ts';
export { wordsOf } from './words.ts';
