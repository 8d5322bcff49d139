import { stringify } from 'yaml';
import { readJsonObject } from '../../http/index.ts';
import { invalidParams, LegateError } from '../../protocol/index.ts';
import type { Routes } from './api.ts';
import { reply } from './api-http.ts';

/** The endpoints that show and replace the current model. */
export const modelRoutes: Routes = [
  [
    'GET',
    '/version',
    ({ version, response }) => {
      reply(response, { version, minimum_compatible_version: version });
    },
  ],
  [
    'GET',
    '/status',
    ({ models, response }) => {
      const { packed, project } = models.require();
      reply(response, {
        model_file: packed ?? project.directory,
        model_id: project.modelId,
        num_active_training_jobs: 0,
      });
    },
  ],
  [
    'GET',
    '/domain',
    ({ models, request, response }) => {
      const { raw } = models.require().project.domain;
      const accepted = request.headers.accept ?? '';
      if (!/\b(?:application|text)\/(?:x-)?yaml\b/.test(accepted)) return reply(response, raw);
      response.writeHead(200, { 'content-type': 'application/yaml' }).end(stringify(raw));
    },
  ],
  [
    'GET',
    '/flows',
    ({ models, response }) => {
      const flows = [...models.require().project.flows.values()].filter((flow) => !flow.isPattern);
      reply(
        response,
        flows.map(({ id, name, description, steps }) => ({
          id,
          name,
          description,
          steps: Array.from(steps.values(), (step) => ({ ...step, position: undefined })),
        })),
      );
    },
  ],
  [
    'PUT',
    '/model',
    async ({ request, response, limits, replaceModel }) => {
      const { model_file: file } = await readJsonObject(request, limits);
      if (file !== undefined && (typeof file !== 'string' || file === '')) {
        throw invalidParams({ field: 'model_file', description: 'must be the path of a model' });
      }
      try {
        await replaceModel(file === undefined ? 'same' : { file });
      } catch (error) {
        if (!(error instanceof LegateError) || error.code !== 'CONFIGURATION_INVALID') throw error;
        // Clients that may replace the model may see the errors in it.
        throw invalidParams({ field: 'model_file', description: error.message });
      }
      response.writeHead(204).end();
    },
  ],
  [
    'DELETE',
    '/model',
    async ({ response, replaceModel }) => {
      await replaceModel('none');
      response.writeHead(204).end();
    },
  ],
];
