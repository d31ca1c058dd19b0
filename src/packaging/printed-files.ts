/** The files that are printed from the code: the schema, the SDLs for larger graphs, and two guides. */
import { SECRET_SETTINGS, SETTING_GROUPS } from '../config/config.js';
import { ERRORS } from '../domain/error-codes.js';
import { stitchingSdlOf, subgraphSdlOf } from '../graph/federation/sdl.js';
import { schema, sdlOf } from '../graph/schema/index.js';

/** The text of `src/config/settings.md`. */
function settingsGuide(): string {
  const groups = SETTING_GROUPS.map(({ title, settings }) => {
    const rows = settings.map(({ name, shownDefault, meaning }) => {
      const value = shownDefault ? `\`${shownDefault}\`` : 'none';
      return `| <a id="${name.toLowerCase()}"></a>\`${name}\` | ${value} | ${meaning} |`;
    });
    return `## ${title}\n\n| setting | default | meaning |\n|---|---|---|\n${rows.join('\n')}\n`;
  });
  return `# Settings

All settings are environment variables. \`npm start -- --help\` prints this list.

- An empty value counts as unset. Words such as \`true\` may have any letter case.
- If values are invalid, the process names all of them and ends with status 1.
- If a variable has the name of a former setting, or resembles a setting, a warning at the start names it.
- Times are in milliseconds (\`_MS\`).
- **Secrets:** ${SECRET_SETTINGS.map((name) => `\`${name}\``).join(' and ')} can also be in a file: \`REDIS_URL_FILE=/run/secrets/redis\`.
- **In the [library](../library/README.md)** the settings are options in camel case, such as \`maxCost\`. It lacks \`HOST\`, \`PORT\`, \`ADMIN_PORT\` and \`DRAIN_MS\`.

${groups.join('\n')}`;
}

/** The text of `src/domain/error-codes.md`. */
function errorCodesGuide(): string {
  const rows = Object.entries(ERRORS).map(([code, meaning]) => {
    const status = 'status' in meaning ? meaning.status : 200;
    return `| \`${code}\` | ${status} | ${meaning.happened} | ${meaning.advice} |`;
  });
  return `# Error codes

Each GraphQL error has a code in \`extensions.code\`. With HTTP status 200, a field that failed is null, and the other fields have their values. An operation that is refused as a whole, such as with \`LIMIT_EXCEEDED\`, has no data. In place of 200, its status is 400 for clients that accept \`application/graphql-response+json\`.

| code | HTTP | what happened | what to do |
|---|---|---|---|
${rows.join('\n')}

These codes are known from other GraphQL servers: \`GRAPHQL_PARSE_FAILED\`, \`GRAPHQL_VALIDATION_FAILED\`, \`OPERATION_RESOLUTION_FAILURE\`, \`PERSISTED_QUERY_NOT_FOUND\`, \`PERSISTED_QUERY_MISMATCH\`, \`BAD_REQUEST\` and \`INTERNAL_SERVER_ERROR\`.

Errors contain neither the address of the upstream nor the headers or body of its answers. The log has the address, and the beginning of the body for an error status.
`;
}

/** The text of each printed file, by its path from the project's folder. `build/` is not committed. */
export const PRINTED_FILES: Readonly<Record<string, () => string>> = {
  'schema.graphql': () => sdlOf(schema),
  'build/subgraph.graphql': () => subgraphSdlOf(schema),
  'build/stitching.graphql': () => stitchingSdlOf(schema),
  'src/config/settings.md': settingsGuide,
  'src/domain/error-codes.md': errorCodesGuide,
};
