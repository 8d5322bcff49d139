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
export { type Identification, identify, Sender } from './sender.ts';
export { sendCancel, sendTask } from './task-messages.ts';
