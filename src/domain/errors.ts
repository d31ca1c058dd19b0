/** The errors of resolvers that clients see. */
import type { ErrorCode } from './error-codes.js';

/**
 * An error whose code and message clients see; all other errors of resolvers are masked. The message must therefore
 * contain no address, header or body of the upstream.
 */
export class GatewayError extends Error {
  override readonly name: string = 'GatewayError';
  readonly code: ErrorCode;
  readonly isByClient: boolean;

  /** @param message one or two sentences that name the expected value, the received value, and the next step */
  constructor(code: ErrorCode, message: string, options: GatewayErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.isByClient = options.isByClient ?? false;
  }
}

export interface GatewayErrorOptions extends ErrorOptions {
  /** True if the client's own requests caused the error. Metrics count it apart, so it raises no alert. */
  readonly isByClient?: boolean | undefined;
}

/** An operation exceeds a limit and is refused as a whole, without any data. */
export class OperationLimitError extends GatewayError {
  override readonly name = 'OperationLimitError';
}

export function responseTooLong(maxBytes: number): OperationLimitError {
  return new OperationLimitError(
    'LIMIT_EXCEEDED',
    `Expected a response of at most ${maxBytes} bytes, and this one would have more. Ask for fewer rows or fields at a time, or for shorter aliases.`,
  );
}
