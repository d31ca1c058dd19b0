/** The files that are printed from the code: the schema, the SDLs for federated graphs, and three guides. */
import { PORT_SETTINGS, SECRET_SETTINGS, SETTING_GROUPS, variableOf } from '../config/config.js';
import { ERRORS, SERVER_ERRORS } from '../domain/error-codes.js';
import { stitchingSdlOf, subgraphSdlOf } from '../graph/federation/sdl.js';
import { schema, sdlOf } from '../graph/schema/index.js';
import { METRICS } from '../observability/metric-table.js';

/** A name with an anchor, so that other guides can link to it. */
const anchored = (name: string) => `<a id="${name.toLowerCase()}"></a>\`${name}\``;

/** The guides to the settings of a group, by its title. */
const GUIDES: Readonly<Record<string, string>> = {
  Process:
    '[Running it](../../.deploy/README.md#starting-and-stopping), [the log](../observability/README.md#log)',
  Upstream:
    '[When it fails](../snapshots/README.md#when-the-upstream-fails), [when v1 is switched off](../storage/README.md#when-v1-is-switched-off)',
  'Freshness and guarded values':
    '[Freshness](../snapshots/README.md), [guarded values](../snapshots/guarded-values.md), [rules](../snapshots/listing-rules.md), [`sources`](../snapshots/routes.md#sources)',
  'Disk and Redis': '[Sharing and disk](../storage/README.md)',
  'What clients may use':
    '[Paths](../server/README.md#paths), [trusted documents](../server/limits.md#trusted-documents)',
  'Limits on clients':
    '[Cost](../server/limits.md#cost), [rates](../server/limits.md#operations-of-one-client), [who the client is](../server/limits.md#who-the-client-is)',
};

/** The text of `src/config/settings.md`. */
function settingsGuide(): string {
  const groups = SETTING_GROUPS.map(({ title, settings }) => {
    const rows = settings.map(({ name, shownDefault, meaning }) => {
      const value = shownDefault ? `\`${shownDefault}\`` : 'none';
      return `| ${anchored(name)} | ${value} | ${meaning} |`;
    });
    const guides = GUIDES[title] ? `Guides: ${GUIDES[title]}\n\n` : '';
    return `## ${title}\n\n${guides}| setting | default | meaning |\n|---|---|---|\n${rows.join('\n')}\n`;
  });
  return `# Settings

All settings are environment variables. \`npm start -- --help\` prints this list.

- An empty value counts as unset. Words such as \`true\` may have any letter case.
- If values are invalid, the process names all of them and ends with status 1.
- If a variable has the name of a former setting, or resembles a setting, a warning at the start names it.
- Times are in milliseconds (\`_MS\`).
- **Secrets:** ${SECRET_SETTINGS.map((name) => `\`${name}\``).join(' and ')} can also be in a file: \`REDIS_URL_FILE=/run/secrets/redis\`.
- **Files** that settings name are read at the start only, except that of \`LISTING_RULES\`. After a change, for example of a password, restart one gateway after the other.
- **In the [library](../library/README.md)** the settings are options in camel case, such as \`maxCost\`. It lacks ${PORT_SETTINGS.map((key) => `\`${variableOf(key)}\``).join(', ')}.

${groups.join('\n')}`;
}

/** The text of `src/domain/error-codes.md`. */
function errorCodesGuide(): string {
  const tableOf = (errors: typeof ERRORS | typeof SERVER_ERRORS) => {
    const rows = Object.entries(errors).map(
      ([code, { happened, advice, status }]) => `| ${anchored(code)} | ${status} | ${happened} | ${advice} |`,
    );
    return `| code | HTTP | what happened | what to do |\n|---|---|---|---|\n${rows.join('\n')}`;
  };
  return `# Error codes

Each GraphQL error has a code in \`extensions.code\`. With HTTP status 200, a field that failed is null, and the other fields have their values. An operation that is refused as a whole, such as with \`LIMIT_EXCEEDED\`, has no data. Clients that accept \`application/graphql-response+json\` then get 400 in place of 200.

${tableOf(ERRORS)}

Other GraphQL servers have these codes, too:

${tableOf(SERVER_ERRORS)}

Errors contain neither the address of the upstream nor the headers or body of its answers. The log has the address, and the beginning of the body for an error status. [Troubleshooting](../../.deploy/troubleshooting.md) says what an operator does.
`;
}

/** The text of `src/observability/metrics.md`. */
function metricsGuide(): string {
  const rows = Object.entries(METRICS).map(([name, { type, labels, help }]) => {
    const names = labels.map((label) => `\`${label}\``).join(', ');
    return `| ${anchored(name)} | ${type} | ${names} | ${help} |`;
  });
  return `# Metrics

\`/metrics\` is for Prometheus. It has these metrics, and, except in the library, those of the process under their usual names (\`process_*\` and \`nodejs_*\`). See also [the values of the labels](README.md#metrics), and [alerts and a dashboard](../../.deploy/README.md#watching-it).

| metric | type | labels | meaning |
|---|---|---|---|
${rows.join('\n')}
`;
}

/** The text of each printed file, by its path from the project's folder. `build/` is not committed. */
export const PRINTED_FILES: Readonly<Record<string, () => string>> = {
  'schema.graphql': () => sdlOf(schema),
  'build/subgraph.graphql': () => subgraphSdlOf(schema),
  'build/stitching.graphql': () => stitchingSdlOf(schema),
  'src/config/settings.md': settingsGuide,
  'src/domain/error-codes.md': errorCodesGuide,
  'src/observability/metrics.md': metricsGuide,
};
