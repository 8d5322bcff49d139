export { rank, SearchIndex, wordsOf } from './search-index.ts';
