export * from './agent.ts';
