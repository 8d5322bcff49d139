export { allowedMistakes, editDistance, isNearly } from './edit-distance.ts';
export {
  maximumCharacters,
  type Message,
  messageOf,
  overlaps,
  readMessage,
  type Span,
  type Token,
  without,
} from './words.ts';
export { fold, stem } from './words.ts';
export { fillers, prepositions, synonymsOf, weakWords } from './words.ts';
