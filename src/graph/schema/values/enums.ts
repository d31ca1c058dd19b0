import { GraphQLError, type GraphQLSchema, isEnumType, Kind } from 'graphql';
import { TEXT_LIMITS } from '../../../domain/text-limits.js';

/**
 * Has the enums of a schema refuse long texts at once. graphql-js looks for names that a wrong value may stand for, at
 * the cost of a tenth of a second for a megabyte.
 */
export function boundEnumValues(schema: GraphQLSchema): void {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isEnumType(type)) continue;
    const [parseValue, parseLiteral] = [type.parseValue.bind(type), type.parseLiteral.bind(type)];
    type.parseValue = (value) => {
      if (typeof value === 'string') checkLength(type.name, value);
      return parseValue(value);
    };
    type.parseLiteral = (node, variables) => {
      if (node.kind === Kind.STRING) checkLength(type.name, node.value);
      return parseLiteral(node, variables);
    };
  }
}

function checkLength(name: string, { length }: string): void {
  if (length <= TEXT_LIMITS.name) return;
  throw new GraphQLError(`Expected a value of "${name}", got a text of ${length} characters.`);
}
