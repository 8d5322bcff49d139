export { busCard, type BusCardOptions } from './bus-card.ts';
export {
  errorText,
  headerNames,
  readCancel,
  readCard,
  readError,
  readResult,
  readTask,
  readUpdate,
  resultText,
} from './payloads.ts';
export { type Identification, identify, type Parcel, Sender } from './sender.ts';
