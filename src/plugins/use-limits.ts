import {
  type ASTVisitor,
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  Lexer,
  type OperationDefinitionNode,
  type SelectionSetNode,
  Source,
  TokenKind,
  type ValidationContext,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { ErrorCode } from '../errors.js';

/** What {@link useLimits} takes: what one operation may be, before anything of it is executed. */
export interface LimitsOptions {
  /** Levels of fields, the leaves included. Introspection that is nothing else is exempt. */
  readonly maxDepth: number;
  /** Aliases of one operation, those of a fragment counted wherever it is spread. */
  readonly maxAliases: number;
  /** Lexical tokens of the whole document. */
  readonly maxQueryTokens: number;
}

/** Refuses an operation that is too deep, has too many aliases or is too long. */
export function useLimits({ maxDepth, maxAliases, maxQueryTokens }: LimitsOptions): Plugin {
  function limitsRule(context: ValidationContext): ASTVisitor {
    const measure = createMeasure(context.getDocument());
    return {
      OperationDefinition(operation) {
        const { depth, aliases } = measure(operation.selectionSet);
        if (depth > maxDepth && !isIntrospection(operation)) {
          context.reportError(limitExceeded('levels of fields', 'MAX_DEPTH', maxDepth, depth, operation));
        }
        if (aliases > maxAliases) {
          context.reportError(limitExceeded('aliases', 'MAX_ALIASES', maxAliases, aliases, operation));
        }
        return false;
      },
    };
  }
  return {
    onParse({ params }) {
      const source = params.source instanceof Source ? params.source : new Source(String(params.source));
      // A token has at least one letter.
      if (source.body.length <= maxQueryTokens) return;
      const came = countTokens(source);
      if (came > maxQueryTokens) {
        throw limitExceeded('tokens', 'MAX_QUERY_TOKENS', maxQueryTokens, came);
      }
    },
    onValidate({ addValidationRule }) {
      addValidationRule(limitsRule);
    },
  };
}

function limitExceeded(
  unit: string,
  setting: string,
  limit: number,
  came: number,
  operation?: OperationDefinitionNode,
): GraphQLError {
  return new GraphQLError(
    `An operation may have at most ${limit} ${unit} (${setting}); this one has ${came}.`,
    {
      nodes: operation ?? null,
      extensions: { code: 'LIMIT_EXCEEDED' satisfies ErrorCode, http: { spec: true, status: 400 } },
    },
  );
}

/** Counts up to where the parser would stop; what is wrong there is for the parser to say. */
function countTokens(source: Source): number {
  const lexer = new Lexer(source);
  let tokens = 0;
  try {
    while (lexer.advance().kind !== TokenKind.EOF) tokens++;
  } catch {
    // A syntax error, of which the parser gives the place.
  }
  return tokens;
}

interface Measures {
  readonly depth: number;
  readonly aliases: number;
}

/**
 * Measures selection sets of one document. Each fragment is measured once, so that fragments which spread
 * each other many times over cost no more than their text; one that spreads itself adds nothing, and is
 * refused by another rule.
 */
function createMeasure(document: DocumentNode): (selectionSet: SelectionSetNode) => Measures {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
  }
  const measured = new Map<string, Measures>();

  function ofFragment(name: string): Measures {
    const known = measured.get(name);
    if (known) return known;
    measured.set(name, { depth: 0, aliases: 0 });
    const fragment = fragments.get(name);
    const measures = fragment ? ofSelectionSet(fragment.selectionSet) : { depth: 0, aliases: 0 };
    measured.set(name, measures);
    return measures;
  }

  function ofSelectionSet({ selections }: SelectionSetNode): Measures {
    let depth = 0;
    let aliases = 0;
    for (const selection of selections) {
      let below: Measures = { depth: 0, aliases: 0 };
      if (selection.kind === Kind.FRAGMENT_SPREAD) below = ofFragment(selection.name.value);
      else if (selection.selectionSet) below = ofSelectionSet(selection.selectionSet);
      const isField = selection.kind === Kind.FIELD;
      depth = Math.max(depth, below.depth + (isField ? 1 : 0));
      aliases += below.aliases + (isField && selection.alias ? 1 : 0);
    }
    return { depth, aliases };
  }

  return ofSelectionSet;
}

function isIntrospection({ selectionSet }: OperationDefinitionNode): boolean {
  return selectionSet.selections.every(
    (selection) => selection.kind === Kind.FIELD && selection.name.value.startsWith('__'),
  );
}
