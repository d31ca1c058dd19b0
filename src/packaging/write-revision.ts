/** A script of the build: writes the commit that is built, for `--version` and `gateway_build_info`. */
import { spawnSync } from 'node:child_process';
import { replaceFile } from './replace-file.js';

const ROOT = new URL('../../', import.meta.url);
// The last commit; `-dirty` if something has changed since.
const git = spawnSync('git', ['describe', '--always', '--dirty', '--abbrev=40', '--exclude=*'], {
  cwd: ROOT,
});
// The build of an image has no git history. It gets the commit as REVISION.
const revision = process.env.REVISION || git.stdout?.toString().trim() || 'unknown';
replaceFile(new URL('dist/revision.json', ROOT), Buffer.from(JSON.stringify(revision)));
