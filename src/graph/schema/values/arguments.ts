import { GatewayError } from '../../../domain/errors.js';

/**
 * Limits the length of an argument that is searched for, sent to the upstream or cached. Without it, only the size
 * of the request body limits variables.
 *
 * @throws GatewayError BAD_USER_INPUT
 */
export function atMost<Value extends string | readonly string[]>(
  max: number,
  name: string,
  value: Value | null | undefined,
): Value | undefined {
  if (value && value.length > max) {
    const unit = typeof value === 'string' ? 'characters' : 'items';
    throw new GatewayError(
      'BAD_USER_INPUT',
      `Expected at most ${max} ${unit} as "${name}", got ${value.length}.`,
    );
  }
  return value ?? undefined;
}
