/** The limits of texts in arguments. */
import { GraphQLError, type GraphQLSchema, isEnumType, Kind } from 'graphql';
import { GatewayError } from '../../domain/errors.js';
import { MAX_CONDITIONS, TEXT_LIMITS } from '../../domain/text-limits.js';

/** The descriptions of arguments that identify a chain or a token. */
export const CHAIN_KEY = '`chainKey`, such as "ethereum"; letter case does not matter.';
export const TOKEN_ADDRESS =
  'Address of the token. In a hex address, letter case and zeros at its start do not matter. The zero address and the native placeholder (0xEeee…) count as the same address.';

type Limit = keyof typeof TEXT_LIMITS;

/** For a text that is searched, cached or sent to the upstream. @throws GatewayError BAD_USER_INPUT if it is too long */
export function textWithin(limit: Limit, name: string, text: string | null | undefined) {
  if (text && text.length > TEXT_LIMITS[limit])
    throw badInput(`Expected at most ${TEXT_LIMITS[limit]} characters as "${name}", got ${text.length}.`);
  return text ?? undefined;
}

/** For the texts of a condition. @throws GatewayError BAD_USER_INPUT if there are too many, or one is too long */
export function textsWithin(limit: Limit, name: string, texts: readonly string[] | null | undefined) {
  if (!texts) return undefined;
  if (texts.length > MAX_CONDITIONS)
    throw badInput(`Expected at most ${MAX_CONDITIONS} items as "${name}", got ${texts.length}.`);
  for (const [nth, text] of texts.entries()) textWithin(limit, `${name}[${nth}]`, text);
  return texts;
}

export function badInput(message: string): GatewayError {
  return new GatewayError('BAD_USER_INPUT', message);
}

/** Makes enums refuse long texts at once: for a wrong value, graphql-js searches for similar names, which takes long. */
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
  if (length <= TEXT_LIMITS.documentName) return;
  throw new GraphQLError(`Expected a value of "${name}", got a text of ${length} characters.`);
}
