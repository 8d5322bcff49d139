export * from './transport/index.ts';
export * from './identity/index.ts';
export {
  busBinding,
  busCard,
  type BusCardOptions,
  busInterface,
  busNameOf,
} from './exchange/index.ts';
export * from './host/index.ts';
