/** Responses that are made without GraphQL, such as refusals. */
import type { ErrorCode, SERVER_ERRORS } from '../domain/error-codes.js';

export interface Refusal {
  readonly status: number;
  /** A few sentences for a person: the expected value, the actual one if that helps, and what to do next. */
  readonly message: string;
  /** With a code, the body is a GraphQL error. */
  readonly code?: ErrorCode | keyof typeof SERVER_ERRORS | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Whether the server closes the connection after the refusal. */
  readonly isLast?: boolean;
}

export interface PlainResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer> | null;
}

export function plainRefusal({ status, message, code, headers }: Refusal) {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store', ...headers },
    body: JSON.stringify(code ? { errors: [{ message, extensions: { code } }] } : { error: message }),
  } satisfies PlainResponse;
}
