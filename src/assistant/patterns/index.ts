export { defaultFlows, defaultResponses } from './defaults.ts';
