import { Problems } from '../../config/index.ts';
import { loadDomain } from '../domain/domain.ts';
import { loadFlows } from '../flows/flow.ts';
import type { Domain, Flow } from '../model.ts';
import { defaultFlows, defaultResponses } from '../patterns/defaults.ts';

export interface TestProject {
  readonly domain: Domain;
  readonly flows: ReadonlyMap<string, Flow>;
}

/** Loads a project from the text of a domain and flows, over the default patterns. Throws on errors. */
export function project(texts: { readonly domain?: string; readonly flows?: string }): TestProject {
  const problems = new Problems();
  const { domain } = loadDomain([{ file: 'domain.yml', text: texts.domain ?? '' }], problems, {
    defaults: [defaultResponses],
  });
  const { flows } = loadFlows([{ file: 'flows.yml', text: texts.flows ?? '' }], problems, {
    defaults: [defaultFlows],
  });
  problems.throwIfErrors();
  return { domain, flows };
}
