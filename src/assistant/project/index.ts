export type { ExternalAgent, McpServer, Project, ReactAgent, SubAgent } from './model.ts';
