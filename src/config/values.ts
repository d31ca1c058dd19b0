/** Parsers of settings: from text to checked values. */
import { isIP } from 'node:net';
import proxyaddr from 'proxy-addr';
import { shown } from '../domain/text-limits.js';

/** Throws a SettingError on an invalid value. */
export interface Parse<Value> {
  (text: string): Value;
  /** The allowed values, for the guide. */
  readonly range?: string;
}

export class SettingError extends Error {
  /** @param actual a description, if the text can hold a secret; otherwise the text itself, quoted */
  constructor(expected: string, text: string, actual = shown(text)) {
    super(`expected ${expected}, got ${actual}`);
  }
}

export function integer(min: number, max: number): Parse<number> {
  const parse = (text: string) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new SettingError(`a whole number from ${min} to ${max}`, text);
  };
  return Object.assign(parse, { range: `${min} to ${max.toLocaleString('en-US')}` });
}

/** A time in milliseconds, up to ten years; infinite for `never`. */
export function timeOrNever(text: string): number {
  if (text.toLowerCase() === 'never') return Number.POSITIVE_INFINITY;
  if (/^\d{1,12}$/.test(text) && Number(text) <= 315_360_000_000) return Number(text);
  throw new SettingError('a whole number of milliseconds from 0 to 315360000000, or never', text);
}

/** `20` allows 20 operations in each second, and `20/100` allows 100 in each 5 s. */
export function rate(text: string): { readonly perSecond: number; readonly burst: number } {
  const [, number, maximum = number] = /^(\d{1,6})(?:\/(\d{1,6}))?$/.exec(text) ?? [];
  const perSecond = Number(number);
  const burst = Number(maximum);
  if (perSecond >= 1 && burst >= perSecond) return { perSecond, burst };
  throw new SettingError(
    'operations a second, such as 20, or with the operations in one window, which must not be fewer, such as 20/100; both from 1 to 999999',
    text,
  );
}

export function boolean(text: string): boolean {
  const value = text.toLowerCase();
  if (value === 'true' || value === 'false') return value === 'true';
  throw new SettingError('true or false', text);
}

export function oneOf<Value extends string>(values: readonly Value[]): Parse<Value> {
  return (text) => {
    const value = values.find((candidate) => candidate === text.toLowerCase());
    if (value !== undefined) return value;
    throw new SettingError(`one of ${values.join(', ')}`, text);
  };
}

/** Some of the given words, separated by commas, or `none`. */
export function noneOrSome<Value extends string>(values: readonly Value[]): Parse<readonly Value[]> {
  const expected = `none, or some of ${values.join(', ')}, separated by commas`;
  return (text) => {
    const named = text.split(',').map((name) => name.trim().toLowerCase());
    if (named.join() === 'none') return [];
    if (!named.every((name) => values.some((value) => value === name)))
      throw new SettingError(expected, text);
    return values.filter((value) => named.includes(value));
  };
}

/** A path such as `/api/tokens`, without the `/` at its end; empty for `/`. */
export function basePath(text: string): string {
  const path = text.replace(/\/$/, '');
  if (/^(\/[\w.~-]+)*$/.test(path) && new URL(path || '/', 'http://gateway').pathname === (path || '/'))
    return path;
  throw new SettingError(
    'a path such as /tokens, of letters, digits, "-", ".", "_" and "~" between its "/"',
    text,
  );
}

export function host(text: string): string {
  if (isIP(text) || /^[a-z\d]([a-z\d.-]*[a-z\d])?$/i.test(text)) return text;
  throw new SettingError('an IP address or a host name', text);
}

/** A base URL to which paths are appended. Error messages hide a URL with a user name, query or fragment. */
export function baseUrl(text: string): string {
  const { protocol = '', username, password } = URL.canParse(text) ? new URL(text) : {};
  // The text is checked for "?" and "#": the parts of the parsed URL are empty if nothing follows them.
  if (/^https?:$/.test(protocol) && !username && !password && !/[?#]/.test(text)) return text;
  throw new SettingError(
    'an address such as https://example.org/v1, without "?", "#", user name and password (send keys by UPSTREAM_HEADERS)',
    text,
    // The message must not show a password or a key: an address with one has such a character, even if it is mistyped.
    /[@?#]/.test(text) ? 'another address' : undefined,
  );
}

/** The URL of a Redis server. Error messages show only its length, because it can contain a password. */
export function redisUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const databases = [url?.pathname.slice(1), url?.searchParams.get('db')];
  const isValid =
    url?.hostname &&
    /^rediss?:$/.test(url.protocol) &&
    databases.every((database) => /^\d*$/.test(database ?? '')) &&
    succeeds(() => decodeURIComponent(url.password));
  if (isValid) return text;
  throw new SettingError(
    'an address such as redis://127.0.0.1:6379, with "%25" for a "%" in its password, and a number after "/" if it names a database',
    text,
    `another text of ${text.length} characters`,
  );
}

export function path(text: string): string {
  if (!text.includes('\0')) return text;
  throw new SettingError('a path', text);
}

/** Headers to send, as a JSON object. Error messages show only its length: its values are often API keys. */
export function headers(text: string): Readonly<Record<string, string>> {
  let json: unknown;
  const isValid =
    succeeds(() => {
      json = JSON.parse(text);
    }) &&
    typeof json === 'object' &&
    json !== null &&
    !Array.isArray(json) &&
    Object.entries(json).every(([name, value]) => typeof value === 'string' && isHeader(name, value));
  if (isValid) return json as Record<string, string>;
  throw new SettingError(
    'a JSON object of header names and texts, such as {"x-api-key": "…"}, without headers of the connection such as Host',
    text,
    `another text of ${text.length} characters`,
  );
}

// Headers that a setting must not set: those of the connection, and those that say which encodings the gateway reads.
const UNSENDABLE =
  /^(accept-encoding|connection|content-length|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade)$/i;

function isHeader(name: string, value: string): boolean {
  return !UNSENDABLE.test(name) && succeeds(() => new Headers([[name, value]]));
}

function succeeds(attempt: () => unknown): boolean {
  try {
    attempt();
    return true;
  } catch {
    return false;
  }
}

/** Networks such as `10.0.0.0/8`, addresses, and the names of `proxy-addr` for private networks in any letter case. */
export function networks(text: string): readonly string[] {
  const listed = text.split(',').map((network) => network.trim().toLowerCase());
  if (listed.every(isNetwork)) return listed;
  throw new SettingError(
    'networks such as 10.0.0.0/8, fd00::/8, 192.0.2.7, loopback, linklocal or uniquelocal, separated by commas',
    text,
  );
}

function isNetwork(text: string): boolean {
  const [address = ''] = text.split('/');
  const isKnown = /^(loopback|linklocal|uniquelocal)$/.test(text) || isIP(address) > 0;
  return isKnown && succeeds(() => proxyaddr.compile(text));
}

export function origins(text: string): '*' | readonly string[] {
  const listed = text.split(',').map((origin) => origin.trim());
  if (listed.length === 1 && listed[0] === '*') return '*';
  if (listed.every(isOrigin)) return listed;
  throw new SettingError('* or origins such as https://app.example.org, separated by commas', text);
}

/** Whether browsers can send this text as `Origin`. For pages of apps and of browser extensions, URL has no `origin`. */
function isOrigin(text: string): boolean {
  if (!URL.canParse(text) || text.includes('*')) return false;
  const { origin, protocol, host } = new URL(text);
  return text === (origin === 'null' ? `${protocol}//${host}` : origin);
}
