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
} from './message.ts';
export { fold, stem } from './stem.ts';
export { fillers, prepositions, synonymsOf, weakWords } from './vocabulary.ts';
