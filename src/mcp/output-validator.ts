import type { JsonSchemaType, jsonSchemaValidator } from '@modelcontextprotocol/client';
import { isJsonObject } from '../protocol/index.ts';

/**
 * Validates tool results against their output schema. The server controls both, so patterns run in
 * linear time instead of in the validator's `RegExp`.
 */
export async function outputValidator(): Promise<jsonSchemaValidator> {
  const { AjvJsonSchemaValidator } = await import('@modelcontextprotocol/client/validators/ajv');
  const { splitPatterns } = await import('../regex/index.ts');
  const ajv = new AjvJsonSchemaValidator();
  return {
    getValidator<T>(written: JsonSchemaType) {
      const { schema, check } = splitPatterns(isJsonObject(written) ? written : {});
      const validate = ajv.getValidator<T>(schema);
      return (input) => {
        const problem = isJsonObject(input) ? check(input) : undefined;
        if (problem === undefined) return validate(input);
        return { valid: false, data: undefined, errorMessage: problem };
      };
    },
  };
}
