export { InactivityTimers, type InactivityTimersOptions } from './inactivity-timers.ts';
