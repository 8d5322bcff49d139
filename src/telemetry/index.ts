export { type Logger, silentLogger } from './logger.ts';
