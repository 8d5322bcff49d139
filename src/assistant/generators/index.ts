export { dateTimeLine } from './llm/facts.ts';
export { presentMoment } from './present-moment.ts';
