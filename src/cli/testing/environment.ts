/** The base environment of commands under test. */
export const environment: Readonly<NodeJS.ProcessEnv> = {
  PATH: process.env['PATH'],
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
};
