export { BackgroundCaller } from './background-caller.ts';
