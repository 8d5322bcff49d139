export { busCard, type BusCardOptions } from './bus-card.ts';
export {
  errorText,
  headerNames,
  presenceMark,
  readCancel,
  readCard,
  readError,
  readPresence,
  readResult,
  readTask,
  readUpdate,
} from './payloads.ts';
export { type Identification, identify, sendCancel, Sender, sendTask } from './sender.ts';
