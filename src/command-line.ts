/** The texts that the process prints for the options of its command line. */
import { SETTING_GROUPS } from './config/config.js';
import { PACKAGE, REVISION, VERSION } from './observability/version.js';

/** Any other option is an error: settings are environment variables. */
export function replyTo(options: readonly string[]): { readonly text: string; readonly isError: boolean } {
  const option = options.join(' ');
  if (option === '--help' || option === '-h') return { text: help(), isError: false };
  if (option === '--version' || option === '-v')
    return { text: `${PACKAGE.name} ${VERSION} (${REVISION})\n`, isError: false };
  const text = `Unknown options: ${option}\nSettings are environment variables; --help lists them.\n`;
  return { text, isError: true };
}

function help(): string {
  const { name, description } = PACKAGE;
  const groups = SETTING_GROUPS.map(({ title, settings }) => {
    const lines = settings.map(({ name: variable, shownDefault, meaning }) => {
      const shown = shownDefault && ` (default ${shownDefault})`;
      return `  ${variable}${shown}\n      ${meaning.replaceAll('`', '')}`;
    });
    return `${title}\n${lines.join('\n')}`;
  });
  return `${name}: ${description}

Usage: [SETTING=value …] npm start, or node dist/main.js [--help | --version]

SIGTERM and Ctrl-C give open requests some seconds to end, and stop the process; SIGHUP is ignored.

Settings, as environment variables:

${groups.join('\n\n')}
`;
}
