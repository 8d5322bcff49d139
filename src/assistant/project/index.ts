export { type LoadedProject, loadProject } from './load-project.ts';
export type {
  A2aServer,
  ActionEndpoint,
  AssistantConfig,
  Authentication,
  Endpoints,
  ExternalAgent,
  GeneratorConfig,
  McpServer,
  NlgEndpoint,
  Project,
  ReactAgent,
  SubAgent,
} from './model.ts';
export { loadPacked, type PackedPlaces, type PackOptions, packProject } from './pack.ts';
export { type ProjectPlaces } from './project-folder.ts';
export { validate, type ValidationScope } from './validation/index.ts';
