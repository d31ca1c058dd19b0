/** The guides that are printed from tables of the code. `npm run schema` writes them, and `npm run check` compares them. */
import { SETTING_GROUPS, shownDefault } from '../config/config.js';
import { ERRORS } from '../domain/error-codes.js';

/** The text of `src/config/settings.md`. */
function settingsGuide(): string {
  const groups = Object.entries(SETTING_GROUPS).map(([title, group]) => {
    const rows = Object.values(group).map(({ name, fallback, meaning }) => {
      const shown = shownDefault(fallback);
      const value = shown === undefined ? 'none' : `\`${shown}\``;
      return `| <a id="${name.toLowerCase()}"></a>\`${name}\` | ${value} | ${meaning} |`;
    });
    return `## ${title}\n\n| setting | default | meaning |\n|---|---|---|\n${rows.join('\n')}\n`;
  });
  return `# Settings

All settings are environment variables. An empty value counts as unset. Words such as \`true\` may have any letter case. If some values are invalid, the process reports all of them and ends with status 1. A variable whose name resembles a setting, or was one, is named in a warning at the start, which for a former setting says what holds now. \`npm start -- --help\` prints this list.

\`UPSTREAM_HEADERS\` and \`REDIS_URL\` can hold secrets, so each can also be read from a file: \`REDIS_URL_FILE=/run/secrets/redis\`.

In the [library](../library/README.md) the same settings are options in camel case, such as \`maxCost\`. These settings of the process are missing there: \`HOST\`, \`PORT\` and \`ADMIN_PORT\`.

${groups.join('\n')}`;
}

/** The text of `src/domain/error-codes.md`. */
function errorCodesGuide(): string {
  const rows = Object.entries(ERRORS).map(([code, meaning]) => {
    const status = 'status' in meaning ? meaning.status : 200;
    return `| \`${code}\` | ${status} | ${meaning.happened} | ${meaning.advice} |`;
  });
  return `# Error codes

Each error has one of these codes in \`extensions.code\`, or one of the GraphQL server itself: \`GRAPHQL_PARSE_FAILED\`, \`GRAPHQL_VALIDATION_FAILED\`, \`OPERATION_RESOLUTION_FAILURE\`, \`PERSISTED_QUERY_NOT_FOUND\`, \`PERSISTED_QUERY_MISMATCH\`, \`BAD_REQUEST\`, \`INTERNAL_SERVER_ERROR\`. With HTTP status 200, the field that failed is null and the other fields are there. An operation that is refused as a whole, such as with \`LIMIT_EXCEEDED\`, has no data; its status is 400 for clients that accept \`application/graphql-response+json\`.

A client never sees the address, the headers or the body of an upstream response. The log has the address, and the beginning of the body if the upstream answered with an error status.

| code | HTTP | what happened | what to do |
|---|---|---|---|
${rows.join('\n')}
`;
}

/** Each printed guide, by its path from the project's folder. */
export const PRINTED_GUIDES: Readonly<Record<string, () => string>> = {
  'src/config/settings.md': settingsGuide,
  'src/domain/error-codes.md': errorCodesGuide,
};
