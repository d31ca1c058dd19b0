import { validate } from 'graphql';
import type { Plugin } from 'graphql-yoga';

/** Each error holds a part of its document for as long as the document is cached. */
const MAX_VALIDATION_ERRORS = 10;

/** Stops validating a document after its first errors: the hundredth helps nobody, and costs as much as the first. */
export function useValidationLimit(): Plugin {
  return {
    onValidate({ setValidationFn }) {
      setValidationFn((...[schema, document, rules]: Parameters<typeof validate>) =>
        validate(schema, document, rules, { maxErrors: MAX_VALIDATION_ERRORS }),
      );
    },
  };
}
