export { rank, type Ranked, SearchIndex } from './search-index.ts';
export { wordsOf } from './words.ts';
