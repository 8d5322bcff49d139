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
  resultText,
} from './payloads.ts';
export { type Identification, identify, type Parcel, Sender } from './sender.ts';
export { sendCancel, sendTask } from './task-messages.ts';
