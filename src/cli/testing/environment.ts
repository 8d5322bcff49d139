/** All that commands under test have of the environment, besides what a test gives them. */
export const environment: Readonly<NodeJS.ProcessEnv> = {
  PATH: process.env['PATH'],
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
};
