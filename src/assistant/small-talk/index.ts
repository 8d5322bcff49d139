export { smallTalkTopic, withoutClosing, withoutOpening } from './small-talk.ts';
