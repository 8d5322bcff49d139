export {
  declareAgentQueue,
  type HostOptions,
  type HostOutcome,
  type Hosting,
  hostOnBus,
} from './host.ts';
