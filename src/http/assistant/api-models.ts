import { stringify } from 'yaml';
import { invalidParams, LegateError } from '../../protocol/index.ts';
import type { Route } from './api.ts';
import { objectOf, reply, replyNothing } from './api-body.ts';

/** What is served, and how to change it. */
export const modelRoutes: readonly (readonly [string, Route])[] = [
  [
    'GET /version',
    async ({ version }, { response }) => {
      reply(response, { version, minimum_compatible_version: version });
    },
  ],
  [
    'GET /status',
    async ({ models }, { response }) => {
      const { packed, project } = models.require();
      reply(response, {
        model_file: packed ?? project.directory,
        model_id: project.modelId,
        num_active_training_jobs: 0,
      });
    },
  ],
  [
    'GET /domain',
    async ({ models }, { request, response }) => {
      const { raw } = models.require().project.domain;
      const accepted = request.headers.accept ?? '';
      if (!/\b(?:application|text)\/(?:x-)?yaml\b/.test(accepted)) return reply(response, raw);
      response.writeHead(200, { 'content-type': 'application/yaml' }).end(stringify(raw));
    },
  ],
  [
    'GET /flows',
    async ({ models }, { response }) => {
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
    'PUT /model',
    async (api, call) => {
      const { model_file: file } = await objectOf(api, call);
      if (file !== undefined && (typeof file !== 'string' || file === '')) {
        throw invalidParams({ field: 'model_file', description: 'must be the path of a model' });
      }
      try {
        await api.replaceModel(file === undefined ? 'same' : { file });
      } catch (error) {
        if (!(error instanceof LegateError) || error.code !== 'CONFIGURATION_INVALID') throw error;
        // Who may put a model in place may know what is wrong with it.
        throw invalidParams({ field: 'model_file', description: error.message });
      }
      replyNothing(call.response);
    },
  ],
  [
    'DELETE /model',
    async (api, { response }) => {
      await api.replaceModel('none');
      replyNothing(response);
    },
  ],
];
