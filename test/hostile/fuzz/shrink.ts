import { type Exchange, exchangeOf, parametersOf } from './exchange.js';
import { tokensOf } from './mutations.js';

const MAX_TRIES = 300;
/** Each try with a process that hangs takes some seconds. */
const MAX_MS = 60_000;

/**
 * Makes the document of a request smaller as long as it does the same harm; the variables go if they can.
 *
 * @param doesHarm tries an exchange
 * @returns the smallest that was found, the same where it has no document
 */
export async function shrunk(
  exchange: Exchange,
  doesHarm: (smaller: Exchange) => Promise<boolean>,
): Promise<Exchange> {
  const parameters = parametersOf(exchange);
  if (!parameters) return exchange;
  let smallest = exchange;
  let tries = 0;
  const until = performance.now() + MAX_MS;

  async function takes(changed: object): Promise<boolean> {
    if (++tries > MAX_TRIES || performance.now() > until) return false;
    const candidate = withBody(exchange, changed);
    if (!(await doesHarm(candidate))) return false;
    smallest = candidate;
    return true;
  }

  const bare = { query: parameters.query };
  const rest = (await takes(bare)) ? {} : { ...parameters };
  let tokens = tokensOf(parameters.query);
  for (
    let part = Math.ceil(tokens.length / 2);
    part >= 1 && tries < MAX_TRIES;
    part = part > 1 ? Math.ceil(part / 2) : 0
  ) {
    for (let at = 0; at < tokens.length && tries < MAX_TRIES; ) {
      const fewer = [...tokens.slice(0, at), ...tokens.slice(at + part)];
      if (await takes({ ...rest, query: fewer.join(' ') })) tokens = fewer;
      else at += part;
    }
  }
  return smallest;
}

/** The same request with these parameters. */
function withBody({ kind, request }: Exchange, parameters: object): Exchange {
  const headers = request?.headers.filter(([name]) => name.toLowerCase() === 'content-type') ?? [];
  const body = Buffer.from(JSON.stringify(parameters));
  return exchangeOf(kind, { method: 'POST', target: request?.target ?? '/graphql', headers, body });
}

/** The same request so that nothing which was kept of an earlier one serves; what has no document stays as it is. */
export function varied(exchange: Exchange, nth: number): Exchange {
  const { kind, request } = exchange;
  // As bytes: what is nested too deep for JSON.parse is among them.
  const text = request?.body?.toString('latin1');
  if (!request || !text?.startsWith(DOCUMENT)) return exchange;
  const changed = `{"extensions":{"nth":${nth}},"query":"# ${nth}\\n${text.slice(DOCUMENT.length)}`;
  return exchangeOf(kind, { ...request, body: Buffer.from(changed, 'latin1') });
}

/** How a body begins that has a document. */
const DOCUMENT = '{"query":"';
