/** A response that says why the request was not answered. */
export interface Refusal {
  readonly status: number;
  /** A sentence or two for a person: what was expected, what came, what to do next. */
  readonly message: string;
  /** With a code the body is that of a GraphQL error. */
  readonly code?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export function refusalHeaders({ headers }: Refusal): Readonly<Record<string, string>> {
  return { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store', ...headers };
}

export function refusalBody({ code, message }: Refusal): string {
  return JSON.stringify(code ? { errors: [{ message, extensions: { code } }] } : { error: message });
}

/** The refusal as a response of `fetch`. */
export function refusalResponse(
  refusal: Refusal,
  { Response: ResponseClass }: { readonly Response: typeof Response },
): Response {
  return new ResponseClass(refusalBody(refusal), {
    status: refusal.status,
    headers: refusalHeaders(refusal),
  });
}

/** A message shows no more of a value. */
const MAX_SHOWN = 100;

/** The text of a client as a message of a refusal shows it: quoted, escaped, and cut if it is long. */
export function shown(text: string): string {
  return JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
}
