import { Kind, type OperationDefinitionNode, parse, print, visit } from 'graphql';
import type { Operation } from '../../support/generated-operations.js';
import type { Answer } from './answer-reader.js';
import { textOf } from './checks.js';
import { type Exchange, exchangeOf } from './exchange.js';

const ALIAS = 'addedByTheFuzzer';

/** The same operation so written that nothing which is kept of it serves: with a field more, and other white space. */
export function rewritten(operation: Operation): Exchange {
  const document = visit(parse(operation.query), {
    OperationDefinition: (node): OperationDefinitionNode => ({
      ...node,
      selectionSet: {
        ...node.selectionSet,
        selections: [
          ...node.selectionSet.selections,
          {
            kind: Kind.FIELD,
            name: { kind: Kind.NAME, value: '__typename' },
            alias: { kind: Kind.NAME, value: ALIAS },
          },
        ],
      },
    }),
  });
  const body = Buffer.from(JSON.stringify({ ...operation, query: print(document) }));
  const headers = [['content-type', 'application/json']] as const;
  return exchangeOf('rewritten', { method: 'POST', target: '/graphql', headers, body });
}

/** How the answer to an operation differs from that to the same one rewritten; undefined where it does not. */
export function differenceOf(first: Answer, second: Answer): string | undefined {
  const [one, other] = [comparable(first), comparable(second)];
  // The field more can be one too many.
  if (!one || !other || other.includes('LIMIT_EXCEEDED') || one === other) return undefined;
  return `Another answer to the same operation: ${one.slice(0, 500)} and ${other.slice(0, 500)}`;
}

/** Data and the codes of errors; undefined for what is no answer to an operation in JSON. */
function comparable(answer: Answer): string | undefined {
  if (!/^application\/(graphql-response\+)?json/.test(answer.headers.get('content-type') ?? ''))
    return undefined;
  const response = JSON.parse(textOf(answer) || 'null');
  if (response?.data === undefined && response?.errors === undefined) return undefined;
  const { [ALIAS]: _added, ...data } = response.data ?? {};
  const errors = (response.errors ?? []).map((error: { path?: unknown; extensions?: { code?: unknown } }) =>
    JSON.stringify([error.path, error.extensions?.code]),
  );
  return JSON.stringify({ data: response.data ? data : null, errors: errors.sort() });
}
