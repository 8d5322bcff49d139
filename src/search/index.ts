export { type Embed, PassageIndex } from './passage-index.ts';
export { type Passage, passagesOf, type TextDocument } from './passages.ts';
export { rank, SearchIndex, wordsOf } from './search-index.ts';
export { fuse, Nearest, type Neighbour, normalised } from './vectors.ts';
