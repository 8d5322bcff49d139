import type { Project } from './load-project.ts';

/**
 * Removes model groups from a project. Without them, the matching generator reads messages, responses are
 * sent as written, search quotes its documents, and calls of sub agents that need the group fail.
 */
export function withoutModelGroups<P extends Pick<Project, 'config' | 'endpoints'>>(
  project: P,
  ids: ReadonlySet<string>,
): P {
  if (ids.size === 0) return project;
  const { config, endpoints } = project;
  const { nlg, modelGroups } = endpoints;
  const isLeftOut = (name: string | undefined) => name !== undefined && ids.has(name);
  // A component that names no group uses the only one.
  const only = modelGroups.size === 1 ? [...modelGroups.keys()][0] : undefined;
  return {
    ...project,
    config: {
      ...config,
      generator: isLeftOut(config.generator?.modelGroup ?? only) ? undefined : config.generator,
    },
    endpoints: {
      ...endpoints,
      modelGroups: new Map([...modelGroups].filter(([id]) => !ids.has(id))),
      unsupportedModelGroups: new Set([...endpoints.unsupportedModelGroups, ...ids]),
      nlg: nlg?.type === 'rephrase' && isLeftOut(nlg.modelGroup ?? only) ? undefined : nlg,
    },
  };
}
