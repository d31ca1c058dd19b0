import { GatewayError } from '../../../domain/errors.js';

/**
 * An argument that is searched for, sent to the upstream or kept: bounded, since the size of variables is
 * bounded by that of the body alone.
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
