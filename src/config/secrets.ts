/** Finds the secrets in the settings, which the log must not show. */
import type { Config } from '../config.js';

/** The texts that the log must not show. */
export function secretsOf({ upstreamHeaders, redisUrl }: Config): readonly string[] {
  const inUrl = redisUrl === undefined ? [] : passwordsOf(new URL(redisUrl));
  return [...Object.values(upstreamHeaders), ...inUrl];
}

function passwordsOf({ password, searchParams }: URL): readonly string[] {
  return [password, decodeURIComponent(password), ...searchParams.values()];
}
