/**
 * Whether to skip tests because a program or package is missing; if so, writes a line. In CI always false, so that the
 * tests run and fail.
 *
 * @param what its name, and how to install it
 */
export function isMissing(isInstalled: boolean, what: string): boolean {
  if (isInstalled || process.env.CI) return false;
  process.stderr.write(`Not installed: ${what}. Tests that need it are skipped.\n`);
  return true;
}
