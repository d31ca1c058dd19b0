/** The links of a page or a text, without links to other sites and to parts of the same page. */
function linksIn(text: string): readonly string[] {
  const found = text.matchAll(/(?:href|src)="([^"#]+)"|\]\((\/[^)]*)\)/g);
  const links = [...found].map(([, inPage, inText]) => inPage ?? inText ?? '');
  return links.filter((link) => !/^https?:/.test(link));
}

export async function crawl(ask: (path: string) => Promise<Response>, from: readonly string[]) {
  const statuses = new Map<string, number>();
  for (const waiting = [...from]; waiting.length > 0; ) {
    const path = new URL(waiting.pop() ?? '', 'http://gateway').pathname;
    if (statuses.has(path)) continue;
    const response = await ask(path);
    // The tools for agents accept only POST.
    statuses.set(path, path.endsWith('/mcp') && response.status === 405 ? 200 : response.status);
    const text = await response.text();
    if (/html|plain/.test(response.headers.get('content-type') ?? ''))
      waiting.push(...linksIn(text).map((link) => new URL(link, `http://gateway${path}`).href));
  }
  return statuses;
}
